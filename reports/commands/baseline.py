"""`crosswarp baseline`: write a run as a small file, to be committed and compared with."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from crosswarp.matrix.errors import UsageError
from crosswarp.matrix.results import baseline
from crosswarp.matrix.results.store import Store
from crosswarp.reports.commands.options import add_run, add_store
from crosswarp.reports.text import escape

DESCRIPTION = (
    "Write a run as a small, sorted text file, to be committed and given to `crosswarp diff`."
)
EXAMPLES = (
    "crosswarp baseline write baseline/all.json",
    "crosswarp baseline write baseline/all.json --onto baseline/all.json",
)


def add(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    write = actions.add_parser("write", help="write it", description=DESCRIPTION)
    write.add_argument("file", type=Path, metavar="FILE")
    write.add_argument(
        "--onto", type=Path, metavar="BASELINE",
        help="keep what this file says of the kernels, columns, targets and lanes that the run did not run",
    )  # fmt: skip
    add_run(write)
    add_store(write)


def run(options: argparse.Namespace, argv: Sequence[str]) -> int:
    with Store(options.store, read_only=True) as store:
        stored = store.run(options.run)
        records = store.records(stored.id)
    if not records:
        raise UsageError(f"run {stored.id} holds no cell. `crosswarp runs` lists others: --run ID.")
    if options.onto is not None:
        chosen = stored.described.selection
        all_cases = chosen["cases"] == ["*"] and not chosen["left_out"]
        records = baseline.onto(baseline.read(options.onto), records, all_cases)
    baseline.write(options.file, records)
    columns = len({record.column for record in records})
    name = escape.terminal(str(options.file))
    print(f"{name}: {len(records)} cells of {columns} columns, run {stored.id}")
    if stored.status != "finished":
        status = escape.line(stored.status, 200)
        print(f"This run is not whole: {status}. What it lacks will be new to every diff.")
    return 0
