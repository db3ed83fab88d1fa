"""`crosswarp diff`: what regressed between two columns, runs or baselines."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from crosswarp.reports.commands import failing
from crosswarp.reports.commands.options import (
    add_files,
    add_store,
    add_verbose,
    known_issues,
    say_what_stands_in,
)
from crosswarp.reports.findings import diff
from crosswarp.reports.text import colour, diff_text

DESCRIPTION = (
    "Say what breaks from A to B, what is fixed and what is heavier, one group for each root cause. "
    "A and B are each a column "
    "(triton-3.2.0, of the latest run), a run (its number, or `run` for the latest), a column of a run "
    "(3:triton-3.2.0), or a baseline file. Exit status: 0 nothing regressed, 1 something did, 2 usage."
)
EXAMPLES = (
    "crosswarp diff 3.8.0 3.9.0",
    "crosswarp diff baseline/all.json run",
    "crosswarp diff 3:3.9.0 4:3.9.0 --format markdown",
    "crosswarp diff 3.1.0 3.2.0 --fail-on slower-to-compile:3x",
)
FORMATS = {"markdown": diff_text.markdown, "json": diff_text.export}


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("a", metavar="A", help="what it was")
    parser.add_argument("b", metavar="B", help="what it is now")
    parser.add_argument("--format", choices=("table", *FORMATS), default="table")
    add_verbose(parser, "of a table: every figure of every group")
    failing.add_fail_on(parser)
    add_files(parser, "issues")
    add_store(parser)


def run(options: argparse.Namespace, argv: Sequence[str]) -> int:
    known = known_issues(options)
    if not all(map(diff.is_file, (options.a, options.b))):
        say_what_stands_in(options)
    before, after = (diff.side(text, options.store) for text in (options.a, options.b))
    compared = diff.diff(before, after, known)
    if options.format == "table":
        colour.show(diff_text.terminal(compared, options.verbose))
    else:
        print(FORMATS[options.format](compared), end="")
    wanted = failing.failing(compared.pairs, options.fail_on)
    if wanted and options.format == "table":
        print(f"--fail-on: {wanted} cells (exit 1).")
    return 1 if compared.worse or wanted else 0
