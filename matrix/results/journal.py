"""The journal of a run: the files that its columns write, which outlive whatever kills the host.

The host stores what it reads from them. A cell that had finished and was not read when the host died is read by the
next command that opens the store, whichever it is.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from crosswarp.matrix.cell.protocol import Cell
from crosswarp.matrix.results import record
from crosswarp.matrix.results.record import Record
from crosswarp.matrix.results.stream import Tail

if TYPE_CHECKING:
    from crosswarp.matrix.results.store import Run, Store


def folder(work: Path, store: Path, run: Run) -> Path:
    """Where a run of `store` keeps its files, below the folder of `--work`."""
    # Named for store and start as well: several stores may share a work folder, and a store may be made anew.
    store_name = hashlib.sha256(str(store.resolve()).encode()).hexdigest()[:6]
    started = re.sub(r"[^0-9]", "", run.started)[:14]
    return work / "runs" / f"{started}-{store_name}-{run.id}"


def read_back(store: Store, explained: Callable[[Record], Record] = lambda cell: cell) -> list[Run]:
    """Stores the written cells of runs whose process is gone, and returns these runs.

    They are not marked: the next run does that, and reports it.
    """
    runs = []
    for cut_off in store.cut_off():
        if cut_off.work:
            for records in sorted(folder(Path(cut_off.work), store.path, cut_off).glob("*.jsonl")):
                cells = [
                    explained(record.of(event, records.stem))
                    for event in Tail(records).finish()
                    if isinstance(event, Cell)
                ]
                store.cells(cut_off.id, cells)
        runs.append(store.run(cut_off.id))
    return runs
