"""`crosswarp targets`: what there is to choose from, of GPUs. In a checkout it asks compilers as well."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Sequence

from crosswarp.matrix.errors import EXIT_EXPECTED
from crosswarp.matrix.facts import selection, targets
from crosswarp.reports.commands import laboratory
from crosswarp.reports.commands.options import add_files, add_globs, target_table
from crosswarp.reports.text import escape
from crosswarp.reports.text.layout import tight

DESCRIPTION = "List the targets, with the releases of Triton that compile for each."
EXAMPLES = ("crosswarp targets", "crosswarp targets --targets 'sm_9*,gfx*'")
HEADS = ("target", "triton", "warp", "threads", "shared", "products")

# Width of the column of product names, so that a line has 80.
_PRODUCTS = 26
# The module that adds `--probe` and its options.
_ASKING = "asking_targets"


def add(parser: argparse.ArgumentParser) -> None:
    add_globs(parser, ("targets", "these alone (default: all)"))
    add_files(parser, "targets")
    if asking := laboratory.part(_ASKING):
        asking.add_options(parser)


def run(options: argparse.Namespace, argv: Sequence[str]) -> int:
    table = target_table(options)
    if options.targets:
        table = targets.choose(table, selection.split(options.targets))
    asking = laboratory.part(_ASKING)
    if asking and asking.wanted(options):
        return asking.run(options, table)
    rows: list[list[str]] = []
    for name, t in table.items():
        limits = (t.warp_size, t.max_threads_per_block, t.shared_memory_optin)
        first, *others = textwrap.wrap(", ".join(t.names) or t.product or "-", _PRODUCTS)
        rows += [
            [name, t.triton or "all", *map(str, limits), first],
            *([*[""] * (len(HEADS) - 1), other] for other in others),
        ]
    print(escape.terminal(tight(HEADS, rows, left=len(HEADS))))
    return EXIT_EXPECTED
