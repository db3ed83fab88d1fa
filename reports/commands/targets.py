"""`crosswarp targets`: what there is to choose from, of GPUs."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from tabulate import tabulate

from crosswarp.reports.commands.options import add_files, target_table

HELP = "list the targets"
DESCRIPTION = "List the targets."
HEADS = ("target", "products", "triton", "warp", "threads", "shared")


def add(parser: argparse.ArgumentParser) -> None:
    add_files(parser, "targets")


def run(options: argparse.Namespace, argv: Sequence[str]) -> int:
    rows = [
        [
            name,
            ", ".join(t.names) or t.product,
            t.triton or "all",
            t.warp_size,
            t.max_threads_per_block,
            t.shared_memory_optin,
        ]
        for name, t in target_table(options).items()
    ]
    print(tabulate(rows, HEADS, disable_numparse=True))
    return 0
