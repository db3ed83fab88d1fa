"""`crosswarp language`: the table of `triton.language`. In a checkout it asks columns as well, and writes the table."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from crosswarp.compat import __version__
from crosswarp.matrix.errors import EXIT_EXPECTED, UsageError
from crosswarp.matrix.facts import language_table, selection
from crosswarp.matrix.facts.language_table import Table
from crosswarp.reports.commands import laboratory
from crosswarp.reports.findings import language_view
from crosswarp.reports.text import escape
from crosswarp.reports.text.layout import WIDTH, fill, side_by_side
from crosswarp.reports.text.table import short

# Eleven releases of three letters beside it fill a terminal of 80.
_LONGEST_NAME = 36
DESCRIPTION = (
    "Show what triton.language holds in each release: names and options, whether they compile, and whether the "
    "interpreter is right (docs/language.md)."
)
EXAMPLES = (
    "crosswarp language 'tl.dot*'",
    "crosswarp language tl.load tensor.sum",
)
_WHAT_IT_IS = f"The table of crosswarp {__version__}, as it was measured."
# The module that adds `--triton`, `--here` and `--write`.
_ASKING = "asking_language"


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "names", nargs="*", metavar="NAME",
        help="only these, such as tl.load or 'tl.atomic_*', tensor.sum, libdevice.tanh, launch.num_warps",
    )  # fmt: skip
    parser.add_argument(
        "--language-file", type=Path, metavar="JSON", help="instead of crosswarp's language.json"
    )
    if asking := laboratory.part(_ASKING):
        asking.add_options(parser)


def run(options: argparse.Namespace, argv: Sequence[str]) -> int:
    globs = selection.split(options.names) if options.names else ["*"]
    asking = laboratory.part(_ASKING)
    if asking and asking.wanted(options):
        return asking.run(options, globs)
    if not options.language_file:
        print(_WHAT_IT_IS, file=sys.stderr)
    print(shown(language_table.load(options.language_file or language_table.DEFAULT_FILE), globs))
    return EXIT_EXPECTED


def shown(table: Table, globs: Sequence[str]) -> str:
    """The rows of some names as a table for a terminal."""
    check_names(table, globs)
    names = sorted({name for release in table.values() for name in release.names})
    rows = [
        (
            escape.line(f"⋅ {row.label}" if row.option else row.label, WIDTH),
            [square.sign for square in row.squares],
        )
        for name in names
        if language_table.chosen(name, globs)
        for row in language_view.rows_of(table, name)
    ]
    lines = side_by_side("Triton", short(list(table)), rows, _LONGEST_NAME, gap=1)
    seen = {sign for _, signs in rows for sign in signs}
    meanings = [
        fill(f"{sign:<3}", text)
        for sign, text in language_view.SIGNS
        # N and A come before the interpreter's sign as well.
        if sign and (sign in seen or sign in "NA" and any(shown[:1] == sign for shown in seen))
    ]
    return "\n".join([*lines[1:], "", *meanings])


def check_names(table: Table, globs: Sequence[str]) -> None:
    """Raises UsageError for what names nothing: nothing asked would look like all is well."""
    for glob in globs:
        if not any(fnmatchcase(name, glob) for release in table.values() for name in release.names):
            raise UsageError(
                f"no release has a name like {glob}. Names are spelled tl.load, tensor.sum, libdevice.tanh, "
                "launch.num_warps; * stands for anything."
            )
