"""`crosswarp update`: the columns that the package index has grown and columns.toml lacks."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path

from crosswarp.matrix.environments import releases
from crosswarp.matrix.environments.releases import Release
from crosswarp.matrix.environments.uvtool import Uv
from crosswarp.matrix.errors import CrosswarpError, UsageError
from crosswarp.matrix.facts import columns, errors
from crosswarp.matrix.facts.columns import Column
from crosswarp.reports.commands.options import add_files
from crosswarp.reports.findings import new_messages
from crosswarp.reports.text import escape
from crosswarp.reports.text.layout import fill

DESCRIPTION = (
    "Ask the package index (as uv and pip are set up) which releases of Triton the table of columns "
    "lacks and which torch pins them, and print each as a column to paste, with the error messages that it added, "
    "dropped or reworded. A release's wheel is fetched for them, and not run."
)
EXAMPLES = (
    "crosswarp update",
    "crosswarp update --write",
    "crosswarp update --errors .venv/lib/python3.11/site-packages/triton",
)


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--write", action="store_true", help="put them into the table")
    parser.add_argument(
        "--format", choices=("table", "github"), default="table",
        help="github: `columns=ID,..` for a job's outputs, nothing after the sign where there is none",
    )  # fmt: skip
    parser.add_argument(
        "--errors", type=Path, metavar="FOLDER",
        help="instead: the error messages that the Triton in this folder (site-packages/triton of a new release) "
        "added, dropped or reworded",
    )  # fmt: skip
    add_files(parser, "columns")


def run(options: argparse.Namespace, argv: Sequence[str]) -> int:
    if options.errors:
        if not (options.errors / "language" / "core.py").is_file():
            raise UsageError(
                f"--errors {options.errors}: no Triton is there. Name its folder, site-packages/triton."
            )
        print(messages(options.errors), end="")
        return 0
    path = options.columns_file or columns.DEFAULT_FILE
    listed = columns.load(path)
    uv = Uv()
    lacking = releases.lacking(listed, uv)
    made = proposed(lacking)
    if options.write and made:
        releases.write(path, made, listed)
    if options.format == "github":
        print(f"columns={','.join(f'triton-{release.triton}' for release in made)}")
        return 0
    written = escape.terminal(str(path)) if options.write else ""
    print(text(lacking, listed, written), end="")
    for release in lacking:
        if not release.older_than and release.triton > new_messages.newest(
            errors.committed().messages
        ):
            print("\n" + of_release(release, uv), end="")
    return 0


def of_release(release: Release, uv: Uv) -> str:
    """The changes of the error messages in a release, for a terminal; or why it was not read."""
    head = f"Error messages of Triton {release.triton}. "
    with tempfile.TemporaryDirectory(prefix="crosswarp-update-") as folder:
        try:
            return head + messages(releases.unpacked(release, uv, Path(folder)))
        except CrosswarpError as error:
            return fill("", escape.terminal(f"{head}Not read: {error}")) + "\n"


def messages(package: Path) -> str:
    """The messages of that Triton compared with those of the index, for a terminal."""
    known = errors.committed().messages
    changes = new_messages.changes(package, known)
    lines = [
        f"Against the index ({new_messages.newest(known)}): {len(changes.added)} messages added, "
        f"{len(changes.dropped)} dropped, {len(changes.reworded)} reworded."
    ]
    lines += [f"  added     {where}: {message}" for where, message in changes.added]
    lines += [f"  dropped   {where}: {message}" for where, message in changes.dropped]
    lines += [
        f"  reworded  {where}: {before}\n            now: {now}"
        for where, before, now in changes.reworded
    ]
    return "\n".join(escape.terminal(line) for line in lines) + "\n"


def text(lacking: Sequence[Release], table: Sequence[Column], written: str = "") -> str:
    """Returns the missing releases and, unless they were written to the file `written`, the columns to paste."""
    if not lacking:
        return "The table has a column for every release of Triton that the package index has.\n"
    lines = [f"Releases of Triton that the table lacks: {len(lacking)}.", ""]
    lines += [fill(f"  {release.triton}  ", _about(release)) for release in lacking]
    made = proposed(lacking)
    if not made:
        return "\n".join([*lines, "", "None of them is a column to be."]) + "\n"
    lines.append("")
    if not written:
        lines += [releases.toml(release, table) for release in made]
    where = (
        f"Written to {written}."
        if written
        else "Paste it into columns.toml, or: crosswarp update --write."
    )
    ids = ",".join(str(release.triton) for release in made)
    lines.append(fill("", f"{where} Then try it: crosswarp run --triton {ids}"))
    lines.append(fill("", f"And for the language table: crosswarp language --triton {ids} --write"))
    return "\n".join(lines) + "\n"


def proposed(lacking: Sequence[Release]) -> list[Release]:
    return [release for release in lacking if release.torch]


def _about(release: Release) -> str:
    if release.older_than:
        return f"no column: {release.older_than} is a later patch of the same minor."
    if release.torch is None:
        return "no column yet: no torch in the index pins it."
    text = f"torch {release.torch} pins it; Python {release.python}."
    if release.replaces:
        text += f" A later patch than {release.replaces}, which can go: a minor has one column, its last patch."
    return text
