"""Progress while a run goes on: a bar on a terminal, plain lines anywhere else.

Both are fed the same events; neither keeps anything, the store does.
"""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TextIO

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)

from crosswarp.matrix.printable import printable
from crosswarp.matrix.results.record import OUTCOMES, RED, Record

_QUIET_SECONDS = 30.0


def counts(outcomes: Mapping[str, int]) -> str:
    """`412 pass, 3 crash`, in the order of the outcomes."""
    return (
        ", ".join(f"{outcomes[name]} {name}" for name in OUTCOMES if outcomes.get(name))
        or "nothing ran"
    )


class PlainProgress:
    """One line where something begins or ends, and one every half minute in between."""

    def __init__(self, out: TextIO | None = None) -> None:
        self._out = out or sys.stderr
        self._done = self._planned = 0
        self._spoke = 0.0

    def say(self, text: str) -> None:
        print(printable(text), file=self._out, flush=True)
        self._spoke = time.monotonic()

    def column(self, column: str, label: str) -> None:
        self._done = self._planned = 0
        self.say(f"{label}: running")

    def planned(self, column: str, lane: str, items: int) -> None:
        self._planned += items

    def item(self, column: str, item: str) -> None:
        self._done += 1
        if time.monotonic() - self._spoke > _QUIET_SECONDS:
            self.say(f"{column}: {self._done} of {self._planned} cases")

    def cell(self, cell: Record) -> None:
        pass

    def column_done(self, column: str, outcomes: Mapping[str, int], seconds: float) -> None:
        self.say(f"{column}: {counts(outcomes)} in {seconds:.0f} s")


class BarProgress:
    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._task: TaskID | None = None
        self._planned = 0
        self._red: Counter[str] = Counter()

    def say(self, text: str) -> None:
        # markup=False: a message may hold anything, square brackets first of all.
        self._progress.console.print(printable(text), markup=False, highlight=False, soft_wrap=True)

    def column(self, column: str, label: str) -> None:
        self._planned, self._red = 0, Counter()
        self._task = self._progress.add_task(printable(label), total=None, red="")

    def planned(self, column: str, lane: str, items: int) -> None:
        self._planned += items
        if self._task is not None:
            self._progress.update(self._task, total=self._planned)

    def item(self, column: str, item: str) -> None:
        if self._task is not None:
            self._progress.advance(self._task)

    def cell(self, cell: Record) -> None:
        if cell.outcome in RED and self._task is not None:
            self._red[cell.outcome] += 1
            self._progress.update(self._task, red=counts(self._red))

    def column_done(self, column: str, outcomes: Mapping[str, int], seconds: float) -> None:
        if self._task is not None:
            self._progress.remove_task(self._task)
            self._task = None
        self.say(f"{column}: {counts(outcomes)} in {seconds:.0f} s")


@contextmanager
def progress() -> Iterator[PlainProgress | BarProgress]:
    """What suits standard error. CI systems often pretend to be a terminal and mangle what moves."""
    console = Console(stderr=True)
    if not console.is_terminal or console.is_dumb_terminal or os.environ.get("CI"):
        yield PlainProgress()
        return
    bar = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[red]}", markup=False),
        console=console,
        transient=True,
    )
    with bar:
        yield BarProgress(bar)
