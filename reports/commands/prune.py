"""`crosswarp prune`: remove old runs."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence

from tabulate import tabulate

from crosswarp.matrix.errors import Cancelled, StoreError
from crosswarp.matrix.results import journal, pruning
from crosswarp.matrix.results.store import Store
from crosswarp.matrix.running.signals import StopRequested
from crosswarp.reports.commands.options import add_store, positive
from crosswarp.reports.text import escape
from crosswarp.reports.text.layout import plural

DESCRIPTION = (
    "Remove old runs from the store, with their files below --work, and give the room back to the disk. The newest "
    "runs of each suite or library stay, and so do runs that go on, and those whose results the next run may take."
)
EXAMPLES = (
    "crosswarp prune --dry-run",
    "crosswarp prune --keep 5 --days 30",
)
KEEP = 20


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--keep", type=positive, default=KEEP, metavar="N",
        help=f"how many runs of each suite or library stay, the newest ({KEEP}, as many as a report page shows)",
    )  # fmt: skip
    parser.add_argument(
        "--days", type=positive, metavar="D", help="runs younger than so many days stay as well"
    )
    parser.add_argument("--dry-run", action="store_true", help="only say what would go")
    add_store(parser)


def run(options: argparse.Namespace, argv: Sequence[str]) -> int:
    if not options.store.exists():
        raise StoreError(f"{options.store}: there is no store. Name another with --store.")
    with Store(options.store, read_only=options.dry_run) as store:
        if not options.dry_run:
            journal.read_back(store)
        choice = pruning.choose(store, options.keep, options.days)
        _show(choice, options.dry_run)
        if options.dry_run or not choice.going:
            return 0
        before = store.size
        with StopRequested() as stop:
            gone = list(pruning.remove(store, choice, lambda: bool(stop)))
            print(f"Removed {plural(len(gone), 'run')}.")
            if any(stored.status == "running" for stored in store.runs()):
                print(
                    "A run goes on in this store: its file becomes smaller when you prune after that."
                )
            elif stop or not store.shrink(lambda: bool(stop)):
                raise Cancelled(
                    "Cancelled. No run is half gone; for the rest run the command again."
                )
            else:
                name = escape.terminal(str(store.path))
                print(f"{name}: {size(before)} before, {size(store.size)} now.")
    return 0


def _show(choice: pruning.Choice, dry: bool) -> None:
    reasons = ", ".join(f"{count} {why}" for why, count in Counter(choice.stay.values()).items())
    word = "stays" if len(choice.stay) == 1 else "stay"
    print(f"{plural(len(choice.stay), 'run')} {word}" + (f": {reasons}." if reasons else "."))
    if not choice.going:
        print("No run is to be removed.")
        return
    rows = [
        [
            going.run.id,
            escape.line(going.run.started, 40),
            escape.line(going.run.status, 40),
            going.run.cells,
            size(going.run.cells * choice.cell_bytes),
            size(going.file_bytes) if going.files else "",
        ]
        for going in choice.going
    ]
    heads = ("run", "started", "status", "cells", "in the store, about", "its files")
    print(tabulate(rows, heads, disable_numparse=True))
    cells = sum(going.run.cells for going in choice.going) * choice.cell_bytes
    files = sum(going.file_bytes for going in choice.going)
    word = "would go" if dry else "to go"
    print(
        f"{plural(len(rows), 'run')} {word}: about {size(cells)} of the store, and {size(files)} of files."
    )


def size(count: float) -> str:
    """Bytes for people: `12.3 MB`."""
    for unit in ("B", "kB", "MB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.2f} GB"
