"""`crosswarp merge`: the runs of several machines as the one run that they are the parts of."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from crosswarp.matrix.results.store import Store
from crosswarp.matrix.running import jobs, merge
from crosswarp.reports.commands.options import add_files, add_verbose, known_issues
from crosswarp.reports.findings.view import view
from crosswarp.reports.text import colour, escape
from crosswarp.reports.text.ending import ending
from crosswarp.reports.text.summary import summary

DESCRIPTION = (
    "Merge runs that are parts of one: columns, or shards of columns, of the same selection, commit "
    "and versions. Exit status: that of the whole run; 2 when the parts overlap or disagree."
)
EXAMPLES = ("crosswarp merge parts/*.db --into whole.db",)


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "stores", type=Path, nargs="+", metavar="STORE", help="the latest run of each is merged"
    )
    parser.add_argument(
        "--into",
        type=Path,
        required=True,
        metavar="STORE",
        help="gets the merged run, as a new one",
    )
    parser.add_argument(
        "--expect", type=Path, metavar="FILE",
        help="what `crosswarp plan --format github` printed, so that a lost part is noticed",
    )  # fmt: skip
    add_verbose(parser, "all details, of fixed known issues too")
    add_files(parser, "issues")


def run(options: argparse.Namespace, argv: Sequence[str]) -> int:
    expected = jobs.read(options.expect) if options.expect else ()
    known = known_issues(options)
    merged = merge.merge(options.stores, options.into, known, argv, expected)
    with Store(options.into) as store:
        shown = view(store, known, merged.run)
        colour.show(summary(shown, True) if options.verbose else ending(shown))
    name = escape.terminal(str(options.into))
    print(f"\n{name}: run {merged.run}, {merged.cells} cells from {len(options.stores)} parts")
    return merged.exit_code
