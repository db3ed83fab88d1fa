"""`crosswarp columns`: what there is to choose from, of Triton and torch."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from crosswarp.matrix.environments import lockkey
from crosswarp.matrix.facts import columns, selection
from crosswarp.reports.commands.options import add_files, column_table
from crosswarp.reports.text.layout import tight

DESCRIPTION = "List the columns."
EXAMPLES = (
    "crosswarp columns",
    "crosswarp columns --ids '3.*'",
)


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "names", nargs="*", metavar="GLOB",
        help="only these, as `crosswarp run --triton` takes them: also off the table, 3.2.0+torch-2.5.1",
    )  # fmt: skip
    add_files(parser, "columns")
    # For nox and other programs: one id a line and nothing else.
    parser.add_argument("--ids", action="store_true", help="ids only, one a line")
    parser.add_argument(
        "--key", metavar="WORDS",
        help="`key=...` for a CI's cache of environments: another where what they are built from changed, or WORDS, "
        "the options that choose among the columns",
    )  # fmt: skip


def run(options: argparse.Namespace, argv: Sequence[str]) -> int:
    listed = column_table(options)
    if options.names:
        listed = tuple(columns.choose(listed, selection.split(options.names)))
    if options.key is not None:
        print(f"key={lockkey.key(listed, options.key)}")
        return 0
    if options.ids:
        print("\n".join(column.id for column in listed))
        return 0
    rows = [
        [
            c.id,
            c.triton or c.resolver or "",
            c.torch or "newest",
            c.python,
            " ".join(c.requirements),
            "off the table" if c.swapped and not c.profile else " ".join(c.profile),
            " ".join(c.overrides),
        ]
        for c in listed
    ]
    heads = ["column", "triton", "torch", "python", "also", "profiles", "overridden"]
    if not any(c.overrides for c in listed):
        rows, heads = [row[:-1] for row in rows], heads[:-1]
    print(tight(heads, rows, left=len(heads)))
    return 0
