"""`crosswarp range`: the releases that a suite was measured to pass on, as a version specifier."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from crosswarp.reports.commands.options import (
    add_files,
    add_globs,
    add_reproducers,
    add_run,
    add_store,
    column_table,
    say_what_stands_in,
)
from crosswarp.reports.findings.range import measured
from crosswarp.reports.text import colour, range_text

DESCRIPTION = (
    "Print the measured floor, ceiling and holes of a suite as version specifiers of Triton and torch, "
    "without compat and with it, and of each kernel. Only what a run measured counts: what it did not run is named."
)
EXAMPLES = (
    "crosswarp range",
    "crosswarp range --kernels 'layer_norm*' --targets sm_90",
)
FORMATS = {"table": range_text.terminal, "markdown": range_text.markdown, "json": range_text.export}


def add(parser: argparse.ArgumentParser) -> None:
    for name in ("kernels", "targets", "lanes"):
        add_globs(parser, (name, "(default: all that the run holds)"))
    add_reproducers(parser)
    parser.add_argument("--format", choices=tuple(FORMATS), default="table")
    add_run(parser)
    add_files(parser, "columns")
    add_store(parser)


def run(options: argparse.Namespace, argv: Sequence[str]) -> int:
    say_what_stands_in(options)
    shown = measured(
        options.store, options.run, column_table(options), options.kernels or [], options.targets or [],
        options.lanes or [], options.reproducers,
    )  # fmt: skip
    colour.show_as(options.format, FORMATS[options.format](shown))
    return 0
