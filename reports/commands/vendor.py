"""`crosswarp vendor`: shims as files inside another package, with licence and version."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from crosswarp import compat
from crosswarp.matrix.errors import EXIT_EXPECTED, EXIT_UNEXPECTED, UsageError
from crosswarp.matrix.facts import selection
from crosswarp.reports.text import escape
from crosswarp.reports.vendoring import copies

DESCRIPTION = (
    "Copy shims, with what they need, the licence and the version, into a package of your own: `from mylib import "
    "_compat; _compat.install()`. Beside an installed crosswarp, or another library's copy, each shim is applied once. "
    "Never overwrites what somebody edited. Exit status of --check: 0 as this crosswarp would write it, 1 not."
)
EXAMPLES = (
    "crosswarp vendor block_pointers compiler_crash --into mylib/_compat",
    "crosswarp vendor --check --into mylib/_compat",
)


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "shims", nargs="*", metavar="SHIM",
        help="names or globs, or `all` (default: what is there already)",
    )  # fmt: skip
    parser.add_argument(
        "--into",
        type=Path,
        required=True,
        metavar="FOLDER",
        help="the package to write, inside yours: mylib/_compat",
    )
    parser.add_argument(
        "--check", action="store_true", help="for CI: write nothing, say what is not as it should be"
    )  # fmt: skip


def run(options: argparse.Namespace, argv: Sequence[str]) -> int:
    folder: Path = options.into
    _check_place(folder)
    wanted = copies.content(_chosen(options.shims, folder))
    if options.check:
        return _compare(folder, wanted)
    written = copies.write(folder, wanted)
    shims = [p for p in wanted if p.startswith("shims/") and p != "shims/__init__.py"]
    changed = len(written.old) + len(written.missing)
    print(
        f"{escape.terminal(str(folder))}: {len(shims)} shims of crosswarp {copies.RELEASE} in {len(wanted)} files: "
        f"{changed} written, {len(written.surplus)} removed, {len(written.same)} as they were."
    )
    return EXIT_EXPECTED


def _check_place(folder: Path) -> None:
    name = folder.resolve().name
    if not name.isidentifier():
        raise UsageError(
            f'--into {folder}: "{name}" is no name of a package. Try {folder}/_compat.'
        )
    if not folder.resolve().parent.is_dir():
        raise UsageError(
            f"--into {folder}: there is no {folder.parent}. Name a folder inside your package."
        )
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"--into {folder}: this is a file. Name a folder.")


def _chosen(given: Sequence[str], folder: Path) -> list[str]:
    chosen = selection.split(given) if given else copies.chosen_before(folder)
    if not chosen:
        raise UsageError(
            f"{folder} holds nothing vendored yet. Name shims, or `all`: `crosswarp doctor` says which are active "
            "here, docs/shims.md what each fixes."
        )
    if copies.EVERYTHING in chosen:
        return [copies.EVERYTHING]
    names = [shim.name for shim in compat.all_shims()]
    return selection.choose(chosen, sorted(names), "shim", "docs/shims.md lists them.")


def _compare(folder: Path, wanted: dict[str, str]) -> int:
    copied = copies.look(folder, wanted)
    differing = {
        "edited, or not of `crosswarp vendor`": copied.edited,
        "missing": copied.missing,
        "not as this crosswarp writes it": copied.old,
        "no longer needed": copied.surplus,
    }
    for what, paths in differing.items():
        for path in paths:
            print(f"{escape.terminal(str(folder / path))}: {what}")
    if not any(differing.values()):
        print(
            f"{escape.terminal(str(folder))}: as crosswarp {copies.RELEASE} writes it, {len(wanted)} files."
        )
        return EXIT_EXPECTED
    others = [
        release
        for release in copies.releases(folder, (*copied.old, *copied.same))
        if release != copies.RELEASE
    ]
    if others:
        print(
            f"It is of crosswarp {', '.join(map(escape.line, others))}, and this is {copies.RELEASE}: renew it, or "
            "have CI install that release."
        )
    else:
        print(
            "`crosswarp vendor --into` writes what is missing or old, and leaves what was edited alone."
        )
    return EXIT_UNEXPECTED
