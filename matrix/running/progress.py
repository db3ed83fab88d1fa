"""Progress while a run goes on: a bar on a terminal, plain lines anywhere else.

Both are fed the same events; neither keeps anything, the store does.
"""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TextIO

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)
from rich.text import Text

from crosswarp.matrix.printable import printable
from crosswarp.matrix.results.record import OUTCOMES, RED, Record

_QUIET_SECONDS = 30.0
_COUNTING_SECONDS = 10.0
# Before that the pace is that of the first cases alone.
_LEAST_SECONDS = 5.0


def counts(outcomes: Mapping[str, int]) -> str:
    """`412 pass, 3 crash`, in the order of the outcomes."""
    return (
        ", ".join(f"{outcomes[name]} {name}" for name in OUTCOMES if outcomes.get(name))
        or "nothing ran"
    )


def left(done: int, of: int, seconds: float) -> str:
    """`about 4 min left`, as it has gone so far; empty while too little is known."""
    if done < 1 or seconds < _LEAST_SECONDS or done >= of:
        return ""
    rest = seconds / done * (of - done)
    return f"about {rest:.0f} s left" if rest < 90 else f"about {rest / 60:.0f} min left"


class _Phases:
    """Where a run stands: which column of how many, and how long the earlier ones took."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._columns = self._place = 0

    def begins(self, columns: int) -> None:
        self._began = time.monotonic()
        self._columns, self._place = columns, 0

    def next(self) -> None:
        self._place += 1

    @property
    def place(self) -> str:
        return f"column {self._place} of {self._columns}" if self._columns > 1 else ""

    @property
    def rest(self) -> str:
        """The columns and time left of the whole run, estimated from the columns that have ended."""
        time_left = left(self._place, self._columns, time.monotonic() - self._began)
        return f"{self._columns - self._place} more columns, {time_left}" if time_left else ""


class PlainProgress:
    """One line where something begins or ends, and one every half minute in between."""

    def __init__(self, out: TextIO | None = None) -> None:
        self._out = out or sys.stderr
        self._done = self._planned = 0
        self._spoke = self._began = 0.0
        self._phases = _Phases()

    def say(self, text: str) -> None:
        print(printable(text), file=self._out, flush=True)
        self._spoke = time.monotonic()

    def begins(self, columns: int) -> None:
        self._phases.begins(columns)

    def preparing(self, column: str) -> None:
        self._phases.next()

    def column(self, column: str, label: str) -> None:
        self._done = self._planned = 0
        self._began = time.monotonic()
        place = self._phases.place
        self.say(f"{label}: running{f' ({place})' if place else ''}")

    def planned(self, column: str, lane: str, items: int) -> None:
        self._planned += items

    def item(self, column: str, item: str) -> None:
        self._done += 1
        if time.monotonic() - self._spoke > _QUIET_SECONDS:
            time_left = left(self._done, self._planned, time.monotonic() - self._began)
            more = f", {time_left}" if time_left else ""
            self.say(f"{column}: {self._done} of {self._planned} cases{more}")

    def cell(self, cell: Record) -> None:
        pass

    def column_done(self, column: str, outcomes: Mapping[str, int], seconds: float) -> None:
        self.say(f"{column}: {counts(outcomes)} in {seconds:.0f} s")
        if rest := self._phases.rest:
            self.say(rest)


class BarProgress:
    """A bar, with the reason for waiting while there is nothing yet to count."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._task: TaskID | None = None
        self._planned = 0
        self._red: Counter[str] = Counter()
        self._phases = _Phases()

    def say(self, text: str) -> None:
        # markup=False: a message may hold anything, square brackets first of all.
        self._progress.console.print(printable(text), markup=False, highlight=False, soft_wrap=True)

    def begins(self, columns: int) -> None:
        self._phases.begins(columns)

    def preparing(self, column: str) -> None:
        self._phases.next()
        self._show(column, "preparing its environment")

    def column(self, column: str, label: str) -> None:
        self._planned, self._red = 0, Counter()
        self._show(label, "importing Triton and its cases")

    def _show(self, label: str, phase: str) -> None:
        if self._task is not None:
            self._progress.remove_task(self._task)
        place = self._phases.place
        self._task = self._progress.add_task(
            printable(label), total=None, red="", phase=f"{phase}{f' ({place})' if place else ''}"
        )

    def planned(self, column: str, lane: str, items: int) -> None:
        self._planned += items
        if self._task is not None:
            self._progress.update(self._task, total=self._planned, phase=self._phases.place)

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
        if rest := self._phases.rest:
            self.say(rest)


class _Counted(ProgressColumn):
    """`12/34, about 2 min left` once the total is known; nothing before, because `0/?` would not help."""

    def render(self, task: Task) -> Text:
        if task.total is None:
            return Text("")
        time_left = left(int(task.completed), int(task.total), task.elapsed or 0.0)
        return Text(
            f"{int(task.completed)}/{int(task.total)}{f', {time_left}' if time_left else ''}"
        )


@contextmanager
def progress() -> Iterator[PlainProgress | BarProgress]:
    """Returns the progress that suits standard error. CI systems pretend to be a terminal and mangle moving text."""
    console = Console(stderr=True)
    if not console.is_terminal or console.is_dumb_terminal or os.environ.get("CI"):
        yield PlainProgress()
        return
    with bar(console) as shown:
        yield shown


@contextmanager
def bar(console: Console) -> Iterator[BarProgress]:
    shown = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=20),
        _Counted(),
        TextColumn("{task.fields[phase]}", markup=False),
        TimeElapsedColumn(),
        TextColumn("{task.fields[red]}", markup=False),
        console=console,
        transient=True,
    )
    with shown:
        yield BarProgress(shown)


@contextmanager
def counting(what: str, out: TextIO | None = None) -> Iterator[Callable[[int, int], None]]:
    """`count(done, of)`, which shows a bar on a terminal, and a line every ten seconds anywhere else."""
    console = Console(file=out) if out is not None else Console(stderr=True)
    if console.is_terminal:
        columns = (
            BarColumn(),
            TextColumn("{task.completed:.0f} of {task.total:.0f} {task.description}"),
        )
        with Progress(*columns, TimeElapsedColumn(), console=console, transient=True) as shown:
            task = shown.add_task(what, total=1)
            yield lambda done, of: shown.update(task, completed=done, total=of)
        return
    spoke = time.monotonic()

    def line(done: int, of: int) -> None:
        nonlocal spoke
        if time.monotonic() - spoke > _COUNTING_SECONDS:
            spoke = time.monotonic()
            print(f"{done} of {of} {what}", file=out or sys.stderr, flush=True)

    yield line
