"""`crosswarp lint`: what a library's files take from Triton, held against the releases that its metadata allows."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from crosswarp.compat import vendors
from crosswarp.matrix import versions
from crosswarp.matrix.checkout import metadata, settings_file
from crosswarp.matrix.errors import EXIT_EXPECTED, EXIT_UNEXPECTED, UsageError
from crosswarp.matrix.facts import columns, language_table, selection
from crosswarp.matrix.facts.columns import Column
from crosswarp.matrix.linting import lint, rules
from crosswarp.matrix.running.progress import counting
from crosswarp.reports.commands.options import add_files, add_triton, column_table, write_out
from crosswarp.reports.text import escape, lint_text

DESCRIPTION = (
    "Read the Python files of a library, as trees, and hold what they take from Triton against each release that the "
    "library's settings or metadata allow. A comment `# crosswarp: ignore[rule]` switches a rule off on its line. "
    "Folders of other vendors' chips, and vendored copies, are listed apart. Exit status: 0 nothing found (or only for "
    "other vendors' chips), 1 something found, or a file could not be checked."
)
# For a library that names no release: few people still have Triton 2.
_DEFAULT = ">=3.0"
EXAMPLES = (
    "crosswarp lint mylib",
    "crosswarp lint mylib --triton '>=3.0' --format github",
)


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "paths",
        nargs="*",
        type=Path,
        metavar="PATH",
        help="folders and files (default: the current folder)",
    )
    add_triton(
        parser,
        "releases such as 3.2.0,3.9.0, or a range such as '>=3.0' (default: what the library's settings or "
        "metadata allow)",
    )
    parser.add_argument("--format", choices=lint_text.FORMATS, default="text", help="(text)")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write it there instead")
    parser.add_argument(
        "--exclude", action="append", default=[], metavar="GLOB,..",
        help="files to leave out, beside lint-exclude of the library's settings",
    )  # fmt: skip
    parser.add_argument(
        "--rules", action="append", metavar="RULE,..", help=f"only these: {', '.join(rules.RULES)}"
    )
    add_files(parser, "columns")


def run(options: argparse.Namespace, argv: Sequence[str]) -> int:
    paths = options.paths or [Path(".")]
    chosen = selection.split(options.rules) if options.rules else list(rules.RULES)
    if unknown := [rule for rule in chosen if rule not in rules.RULES]:
        raise UsageError(
            f"{unknown[0]}: there is no such rule. There are: {', '.join(rules.RULES)}."
        )
    root = paths[0] if paths[0].is_dir() else Path(".")
    declared_columns, excluded = _settings(root)
    releases = _releases(options, declared_columns, paths[0])
    if build := vendors.distribution():
        print(f"Installed: {vendors.about(build.distribution, build.version)}", file=sys.stderr)
    left_out = [
        *excluded,
        *(selection.split(options.exclude) if options.exclude else []),
    ]
    with counting("files checked") as progress:
        result = lint.lint(paths, releases, left_out, shown=_shown, progress=progress)
    result.findings = [finding for finding in result.findings if finding.rule in chosen]
    if write_out(lint_text.rendered(result, options.format), options.out):
        print(escape.terminal(lint_text.summary(result)))
    counted = any(finding.counts for finding in result.findings)
    return EXIT_UNEXPECTED if counted or result.unreadable else EXIT_EXPECTED


def _shown(path: Path) -> str:
    """From where the command runs, when it is below."""
    whole = os.path.abspath(path)
    inside = os.path.relpath(whole)
    return whole if inside.startswith("..") else inside


def _settings(root: Path) -> tuple[Sequence[str], Sequence[str]]:
    """The columns of the settings in `root`, and the files that they leave out."""
    if settings_file.of(root) is None:
        return (), ()
    # Imported where there are settings: pydantic takes a tenth of a second, and the small install lacks it.
    from crosswarp.matrix.checkout import settings

    declared = settings.load(root).settings
    return declared.columns, declared.lint_exclude


def _releases(
    options: argparse.Namespace, declared_columns: Sequence[str], path: Path
) -> list[str]:
    """The releases of the table that were asked for."""
    known = language_table.load()
    table = [
        column for column in columns.published(column_table(options)) if column.triton in known
    ]
    given = ",".join(options.columns or ())
    window = given if any(char in given for char in "<>=!~") else None
    wanted = [] if window else options.columns or list(declared_columns)
    matching: list[Column]
    if wanted:
        named = columns.choose(column_table(options), selection.split(wanted))
        matching = [column for column in named if column.triton in known]
        described = ", ".join(wanted)
    elif window:
        if not versions.is_window(window):
            raise UsageError(f'--triton: "{window}" is no range. Write it as ">=3.0,<3.9".')
        matching = [column for column in table if versions.within(column.triton, window)]
        described = window
    else:
        declared = metadata.above(path)
        matching = declared.columns(table)
        ranges = filter(None, (declared.range_of(name) for name in ("triton", "torch")))
        described = " and ".join(ranges)
        if not described:
            matching = [column for column in table if versions.within(column.triton, _DEFAULT)]
            described = f"{_DEFAULT}, for no file here names a release of Triton or torch (--triton RANGE chooses)"
        elif not matching:
            # Pins of builds that are not a published pair, such as torch==2.9.0+cu128.
            matching = table
            described = f"all, for none of the known ones is allowed by {described}"
        print(escape.line(f"Releases: {described}", 300), file=sys.stderr)
    if not matching:
        raise UsageError(
            f"{described}: none of the releases that are known. Name others: --triton '>=3.0', or --triton 3.6.0,3.9.0."
        )
    return sorted({column.triton for column in matching if column.triton}, key=versions.sort_key)
