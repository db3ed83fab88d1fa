"""Which runs of a store can go, and removing them with the files that they keep below `--work`."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from crosswarp.matrix.results import journal
from crosswarp.matrix.results.store import Run, Store


@dataclass(frozen=True)
class Going:
    """A run that can go.

    Attributes:
        files: the folder of its files; None where there is none.
        file_bytes: their size.
    """

    run: Run
    files: Path | None
    file_bytes: int


@dataclass(frozen=True)
class Choice:
    """Attributes:
    going: the oldest first.
    stay: why each of the others stays, by its number.
    cell_bytes: about how much of the store a cell takes.
    """

    going: tuple[Going, ...]
    stay: dict[int, str]
    cell_bytes: float


def choose(store: Store, keep: int, days: float | None, now: datetime | None = None) -> Choice:
    """All runs but the `keep` newest of each suite or library, those younger than `days`, and those still needed."""
    now = now or datetime.now(timezone.utc)
    runs = store.runs()
    needed = store.newest_of_coordinates()
    stay: dict[int, str] = {}
    newest: dict[tuple[str, str], int] = {}
    finished: set[tuple[str, str]] = set()
    for run in runs:
        suite = run.described.suite, str(run.described.library.get("name") or "")
        newest[suite] = newest.get(suite, 0) + (run.cells > 0)
        last = run.status == "finished" and suite not in finished
        if run.status == "running":
            stay[run.id] = "still running"
        # Its number must not be given to another run.
        elif run is runs[0] or run.cells and newest[suite] <= keep:
            stay[run.id] = "among the newest"
        elif days is not None and _days(run, now) < days:
            stay[run.id] = "young"
        elif last:
            stay[run.id] = "the newest of its suite that finished"
        elif run.id in needed:
            stay[run.id] = "the next run may take its results"
        if last:
            finished.add(suite)
    cells = sum(run.cells for run in runs)
    going = tuple(_going(store, run) for run in reversed(runs) if run.id not in stay)
    return Choice(going, stay, store.size / cells if cells else 0.0)


def _days(run: Run, now: datetime) -> float:
    """The run's age in days; 0 where its start is no date."""
    try:
        started = datetime.fromisoformat(run.started)
    except ValueError:
        return 0.0
    if started.tzinfo is None:
        started = started.replace(tzinfo=timezone.utc)
    return (now - started).total_seconds() / 86400


def _going(store: Store, run: Run) -> Going:
    folder = journal.folder(Path(run.work), store.path, run) if run.work else None
    if folder is None or folder.is_symlink() or not folder.is_dir():
        return Going(run, None, 0)
    sizes = (file.lstat().st_size for file in folder.rglob("*") if not file.is_dir())
    return Going(run, folder, sum(sizes))


def remove(store: Store, choice: Choice, stopped: Callable[[], bool]) -> Iterator[Going]:
    """Removes the runs one by one until `stopped` says so, and yields each that is gone."""
    for leaving in choice.going:
        if stopped():
            return
        # Files first: without their run they could not be found any more.
        if leaving.files is not None:
            shutil.rmtree(leaving.files, ignore_errors=True)
        store.remove(leaving.run.id)
        yield leaving
