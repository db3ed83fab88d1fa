"""Progress while a run goes on: a bar on a terminal, plain lines anywhere else.

Both are fed the same events; neither keeps anything, the store does. The bar is in `bar.py`, which needs rich: the
small install has none, and gets lines.
"""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TextIO

from crosswarp.matrix.printable import printable
from crosswarp.matrix.results.record import OUTCOMES, RED, Record

if TYPE_CHECKING:
    from rich.console import Console

    from crosswarp.matrix.running.bar import BarProgress

_QUIET_SECONDS = 30.0
_COUNTING_SECONDS = 10.0
# Before that the pace is that of the first cases alone, which are the longest.
_LEAST_SECONDS = 5.0
_LEAST_SHARE = 0.05


def counts(outcomes: Mapping[str, int]) -> str:
    """`412 pass, 3 crash`, in the order of the outcomes."""
    return (
        ", ".join(f"{outcomes[name]} {name}" for name in OUTCOMES if outcomes.get(name))
        or "nothing ran"
    )


def left(done: float, of: float, seconds: float) -> str:
    """`about 4 min left`, as it has gone so far; empty while too little is known."""
    if done < max(1, _LEAST_SHARE * of) or seconds < _LEAST_SECONDS or done >= of:
        return ""
    rest = seconds / done * (of - done)
    return f"about {rest:.0f} s left" if rest < 90 else f"about {rest / 60:.0f} min left"


@dataclass
class Expected:
    """A lane of a column: how many cases it has, and the seconds of each in one process.

    Attributes:
        weights: by target and kernel (`sm_80/softmax`), the seconds of a case as a multiple of those.
    """

    cases: float
    seconds: float
    weights: Mapping[str, float] = field(default_factory=dict)


# By column and lane.
Expectations = Mapping[str, Mapping[str, Expected]]


class Progress:
    """Receives the events of a run. Each method does nothing here."""

    def say(self, text: str) -> None: ...

    def begins(self, columns: int) -> None: ...

    def preparing(self, column: str) -> None: ...

    def column(self, column: str, label: str) -> None: ...

    def planned(self, column: str, lane: str, items: int) -> None: ...

    def item(self, column: str, item: str) -> None: ...

    def cell(self, cell: Record) -> None: ...

    def column_done(self, column: str, outcomes: Mapping[str, int], seconds: float) -> None: ...


class Phases:
    """Where a run stands: which column of how many, and how long the rest takes at the pace of what is done."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._columns = self._place = 0
        self._lanes: dict[tuple[str, str], Expected] = {}
        # The weights of the cases that are done.
        self._done: dict[tuple[str, str], float] = {}

    def expects(self, expected: Expectations) -> None:
        """Weigh the cases of each column and lane, those too that nobody has counted yet."""
        self._lanes = {
            (column, lane): replace(counted)
            for column, lanes in expected.items()
            for lane, counted in lanes.items()
        }

    def planned(self, column: str, lane: str, items: int) -> None:
        if (column, lane) in self._lanes:
            self._lanes[column, lane].cases = items

    def item(self, column: str, item: str) -> None:
        target, lane, _, kernel, *_ = [*item.split("/"), "", "", "", ""]
        counted = self._lanes.get((column, lane))
        weight = counted.weights.get(f"{target}/{kernel}", 1.0) if counted else 1.0
        self._done[column, lane] = self._done.get((column, lane), 0.0) + weight

    def cases(self, column: str, planned: int) -> int:
        """How many cases a column has, those of lanes that have not begun as they are expected."""
        mine = [counted.cases for (name, _), counted in self._lanes.items() if name == column]
        return max(planned, round(sum(mine)))

    def left(self, done: int, planned: int, seconds: float) -> str:
        """The time left of the whole run where its columns are weighed, else of these cases."""
        if not self._lanes:
            return left(done, planned, seconds)
        of = sum(counted.cases * counted.seconds for counted in self._lanes.values())
        known = [
            min(self._done.get(key, 0.0), counted.cases) * counted.seconds
            for key, counted in self._lanes.items()
        ]
        time_left = left(sum(known), of, time.monotonic() - self._began)
        return f"{time_left} for all columns" if time_left and self._columns > 1 else time_left

    def begins(self, columns: int) -> None:
        self._began = time.monotonic()
        self._columns, self._place = columns, 0

    def next(self) -> None:
        self._place += 1

    def runs(self) -> None:
        """A column begins to run. The time that environments took before the first one says nothing of the rest."""
        if not self._done:
            self._began = time.monotonic()

    @property
    def place(self) -> str:
        return f"column {self._place} of {self._columns}" if self._columns > 1 else ""

    @property
    def rest(self) -> str:
        """The columns and time left of the whole run, estimated from the columns that have ended."""
        time_left = self.left(self._place, self._columns, time.monotonic() - self._began)
        more = self._columns - self._place
        return (
            f"{more} more column{'' if more == 1 else 's'}, {time_left}"
            if more and time_left
            else ""
        )


class PlainProgress(Progress):
    """One line where something begins or ends, and one every half minute in between, with the failures so far."""

    def __init__(self, out: TextIO | None = None) -> None:
        self._out = out or sys.stderr
        self._done = self._planned = 0
        self._red: Counter[str] = Counter()
        self._spoke = self._began = 0.0
        self._phases = Phases()

    def say(self, text: str) -> None:
        print(printable(text), file=self._out, flush=True)
        self._spoke = time.monotonic()

    def begins(self, columns: int) -> None:
        self._phases.begins(columns)

    def expects(self, expected: Expectations) -> None:
        self._phases.expects(expected)

    def preparing(self, column: str) -> None:
        self._phases.next()

    def column(self, column: str, label: str) -> None:
        self._done = self._planned = 0
        self._red = Counter()
        self._began = time.monotonic()
        self._phases.runs()
        place = self._phases.place
        self.say(f"{label}: running{f' ({place})' if place else ''}")

    def planned(self, column: str, lane: str, items: int) -> None:
        self._planned += items
        self._phases.planned(column, lane, items)

    def item(self, column: str, item: str) -> None:
        self._done += 1
        self._phases.item(column, item)
        if time.monotonic() - self._spoke > _QUIET_SECONDS:
            seconds = time.monotonic() - self._began
            time_left = self._phases.left(self._done, self._planned, seconds)
            more = f", {time_left}" if time_left else ""
            of = self._phases.cases(column, self._planned)
            failures = f" ({counts(self._red)})" if self._red else ""
            self.say(f"{column}: {self._done} of {of} cases{failures}{more}")

    def cell(self, cell: Record) -> None:
        if cell.outcome in RED:
            self._red[cell.outcome] += 1

    def column_done(self, column: str, outcomes: Mapping[str, int], seconds: float) -> None:
        self.say(f"{column}: {counts(outcomes)} in {seconds:.0f} s")
        if rest := self._phases.rest:
            self.say(rest)


def _terminal() -> Console | None:
    """Standard error as a terminal that can show a bar; None where it cannot, or where there is no rich."""
    if not sys.stderr.isatty():
        return None
    try:
        from rich.console import Console
    except ImportError:
        return None
    console = Console(stderr=True)
    return None if console.is_dumb_terminal or not console.is_terminal else console


@contextmanager
def progress() -> Iterator[PlainProgress | BarProgress]:
    """Returns the progress that suits standard error. CI systems pretend to be a terminal and mangle moving text."""
    console = _terminal()
    if console is None or os.environ.get("CI"):
        yield PlainProgress()
        return
    from crosswarp.matrix.running import bar

    with bar.shown(console) as drawn:
        yield drawn


@contextmanager
def counting(what: str, out: TextIO | None = None) -> Iterator[Callable[[int, int], None]]:
    """`count(done, of)`, which shows a bar on a terminal, and a line every ten seconds anywhere else."""
    console = _terminal() if out is None else None
    if console is not None:
        from crosswarp.matrix.running import bar

        with bar.counting(what, console) as count:
            yield count
        return
    spoke = time.monotonic()

    def line(done: int, of: int) -> None:
        nonlocal spoke
        if time.monotonic() - spoke > _COUNTING_SECONDS:
            spoke = time.monotonic()
            print(f"{done} of {of} {what}", file=out or sys.stderr, flush=True)

    yield line
