"""Progress as a bar on a terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    ProgressColumn,
    Task,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)
from rich.progress import (
    Progress as Bar,
)
from rich.text import Text

from crosswarp.matrix.printable import printable
from crosswarp.matrix.results.record import RED, Record
from crosswarp.matrix.running.progress import Expectations, Phases, Progress, counts


class BarProgress(Progress):
    """A bar, with the reason for waiting while there is nothing yet to count."""

    def __init__(self, progress: Bar) -> None:
        self._progress = progress
        self._task: TaskID | None = None
        self._planned = 0
        self._red: Counter[str] = Counter()
        self._phases = Phases()

    def say(self, text: str) -> None:
        # markup=False: a message may hold anything, square brackets first of all.
        self._progress.console.print(printable(text), markup=False, highlight=False, soft_wrap=True)

    def begins(self, columns: int) -> None:
        self._phases.begins(columns)

    def expects(self, expected: Expectations) -> None:
        self._phases.expects(expected)

    def preparing(self, column: str) -> None:
        self._phases.next()
        self._show(column, "preparing its environment")

    def column(self, column: str, label: str) -> None:
        self._planned, self._red = 0, Counter()
        self._phases.runs()
        self._show(label, "importing Triton and its cases")

    def _show(self, label: str, phase: str) -> None:
        if self._task is not None:
            self._progress.remove_task(self._task)
        place = self._phases.place
        self._task = self._progress.add_task(
            printable(label), total=None, red="", phases=self._phases,
            phase=f"{phase}{f' ({place})' if place else ''}",
        )  # fmt: skip

    def planned(self, column: str, lane: str, items: int) -> None:
        self._planned += items
        self._phases.planned(column, lane, items)
        if self._task is not None:
            cases = self._phases.cases(column, self._planned)
            self._progress.update(self._task, total=cases, phase=self._phases.place)

    def item(self, column: str, item: str) -> None:
        self._phases.item(column, item)
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
        phases: Phases = task.fields["phases"]
        time_left = phases.left(int(task.completed), int(task.total), task.elapsed or 0.0)
        return Text(
            f"{int(task.completed)}/{int(task.total)}{f', {time_left}' if time_left else ''}"
        )


@contextmanager
def shown(console: Console) -> Iterator[BarProgress]:
    progress = Bar(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=20),
        _Counted(),
        TextColumn("{task.fields[phase]}", markup=False),
        TimeElapsedColumn(),
        TextColumn("{task.fields[red]}", markup=False),
        console=console,
        transient=True,
    )
    with progress:
        yield BarProgress(progress)


@contextmanager
def counting(what: str, console: Console) -> Iterator[Callable[[int, int], None]]:
    """`count(done, of)`, shown as a bar."""
    columns = (
        BarColumn(),
        TextColumn("{task.completed:.0f} of {task.total:.0f} {task.description}"),
    )
    with Bar(*columns, TimeElapsedColumn(), console=console, transient=True) as progress:
        task = progress.add_task(what, total=1)
        yield lambda done, of: progress.update(task, completed=done, total=of)
