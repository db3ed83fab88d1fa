"""`crosswarp runs`: what the store holds."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from tabulate import tabulate

from crosswarp.matrix.results.store import Store
from crosswarp.reports.commands.options import add_store
from crosswarp.reports.text import escape

DESCRIPTION = "List the stored runs."
EXAMPLES = ("crosswarp runs",)
HEADS = ("run", "started", "status", "exit", "cells", "command")


def add(parser: argparse.ArgumentParser) -> None:
    add_store(parser)


def run(options: argparse.Namespace, argv: Sequence[str]) -> int:
    with Store(options.store, read_only=True) as store:
        rows = [
            [
                r.id,
                escape.line(r.started, 40),
                escape.line(r.status, 40),
                "" if r.exit_code is None else r.exit_code,
                r.cells,
                escape.line("crosswarp " + " ".join(r.argv), 60),
            ]
            for r in store.runs()
        ]
    print(tabulate(rows, HEADS, disable_numparse=True))
    return 0
