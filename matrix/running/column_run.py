"""One column of a run: stores its suite's events as it runs, and reports missing cells when it is gone."""

from __future__ import annotations

import shlex
import signal
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from crosswarp.matrix import versions
from crosswarp.matrix.cell.protocol import (
    Cell,
    End,
    Event,
    Note,
    Senseless,
    Session,
    Start,
    Target,
)
from crosswarp.matrix.cell.protocol import Taken as TakenItem
from crosswarp.matrix.errors import SUITE_STATUSES, SUITE_WRONG_VERSIONS
from crosswarp.matrix.results import record
from crosswarp.matrix.results.record import Record
from crosswarp.matrix.running import process, unchanged
from crosswarp.matrix.running.plan import Plan
from crosswarp.matrix.running.recording import Recording
from crosswarp.matrix.running.unchanged import Taken

NO_RECORD = "ended without a result"


class ColumnRun:
    """The state of a column while its suite runs.

    Args:
        column: the column's id.
        plan: what was planned for it.
        recording: the run that it is a part of.
        expect: the versions that its environment was built with.
        work: the folder of the environments.
        log: where the suite's output goes.
    """

    def __init__(
        self,
        column: str,
        plan: Plan,
        recording: Recording,
        expect: Mapping[str, str],
        work: Path,
        log: Path,
    ) -> None:
        self.column = column
        self.outcomes: Counter[str] = Counter()
        # The items that did not run, and the run whose result each reuses.
        self.reused: dict[str, int] = {}
        # Which version is another than planned; empty while none is.
        self.wrong = ""
        self._plan = plan
        self._to = recording
        self._expect = expect
        self._work = work
        self._log = log
        self._planned: dict[str, int] = {}
        # An earlier run's records by item, until the suite says that the item is in its shard.
        self._offered: dict[str, list[tuple[Record, int]]] = {}
        # Lane and part of the sessions that were reported.
        self._begun: set[tuple[str, str]] = set()
        # The items that the stream has named, in that order; those that it said are done; those with their cell.
        self._known: dict[str, None] = {}
        self._ended: set[str] = set()
        self._announced: set[str] = set()
        # How many cells of each item have come, and how many are missing of those that items counted at their end.
        self._cells: Counter[str] = Counter()
        self._lost = 0
        self._senseless: list[str] = []
        self._twice = 0
        self._no_room = False

    def take_over(self, earlier: Taken) -> None:
        """Stores an earlier run's records of cases that need not run again."""
        # Which known issue a cell is depends on it.
        self._to.measured[self.column] = self._expect.get("triton")
        self._reuse(earlier.cells)
        self._to.note(self.column, unchanged.message(self.column, self.reused))

    def offer(self, earlier: Taken) -> None:
        """The same for a shard, whose cases only the suite knows: they are stored when it names them."""
        for cell, run in earlier.cells:
            self._offered.setdefault(cell.item, []).append((cell, run))

    def _reuse(self, cells: Sequence[tuple[Record, int]]) -> None:
        for cell, _ in cells:
            self._known[cell.item] = None
            self._ended.add(cell.item)
        self._keep([cell for cell, _ in cells])
        sources = {cell.item: run for cell, run in cells}
        self.reused.update(sources)
        self._to.store.take(self._to.run, self.column, sources)

    @property
    def whole(self) -> bool:
        """Whether everything that the cell side announced has come."""
        return not (self.wrong or self._lost or self._senseless or self._twice)

    def take(self, events: Iterable[Event | Senseless]) -> None:
        """Stores the events of the cell side."""
        cells = []
        accepted: list[tuple[Record, int]] = []
        for event in events:
            why = self._wrong_with(event)
            if why:
                self._senseless.append(why)
            elif isinstance(event, Cell):
                cells.append(record.of(event, self.column))
                self._cells[event.item] += 1
                self._known[event.item] = None
            elif isinstance(event, Start):
                self._known[event.item] = None
            elif isinstance(event, End):
                self._ended.add(event.item)
                came = self._cells[event.item]
                self._lost += max(0, (came if event.cells is None else event.cells) - came)
                self._to.progress.item(self.column, event.item)
            elif isinstance(event, TakenItem):
                accepted += self._offered.pop(event.item)
                self._to.progress.item(self.column, event.item)
            elif isinstance(event, Session):
                self._session(event)
            elif isinstance(event, Target):
                self._to.store.target(
                    self._to.run, self.column, event.target, event.supported, event.message
                )
            elif isinstance(event, Note):
                self._to.note(self.column, event.text)
        if accepted:
            self._reuse(accepted)
        if cells:
            self._keep(cells)

    def _wrong_with(self, event: Event | Senseless) -> str:
        """Why an event is none, contradicts an earlier one, or is not of this run; else an empty string."""
        if isinstance(event, Senseless):
            return event.why
        if isinstance(event, (Start, End, Cell)):
            item = event.item
            _, lane, mode, _, _ = item.split("/", 4)
            if lane not in self._plan.lanes or mode not in self._plan.modes:
                return f"{event.EVENT}: {lane}/{mode} was not planned"
            if isinstance(event, Start) and item in self._known:
                return "start: of an item that was begun before"
            if isinstance(event, End) and (item not in self._known or item in self._ended):
                return "end: of an item that was not begun"
        elif isinstance(event, TakenItem):
            if event.item not in self._offered or event.item in self._known:
                return "taken: of an item that was not offered, or was begun before"
        elif isinstance(event, Session):
            if (
                event.lane not in self._plan.lanes
                or event.part not in self._plan.parts(event.lane)
                or (event.lane, event.part) in self._begun
            ):
                return f"session: {event.lane} was not planned, or was begun before"
        elif not isinstance(event, (Target, Note)):
            return f"{event.EVENT}: not of a suite"
        return ""

    def _keep(self, cells: list[Record]) -> None:
        cells = [self._to.explained(cell) for cell in cells]
        self._twice += self._to.store.cells(self._to.run, cells)
        for cell in cells:
            self.outcomes[cell.outcome] += 1
            self._no_room = self._no_room or (cell.outcome, cell.reason) == ("not-run", "disk full")
            if not cell.config:
                self._announced.add(cell.item)
            self._to.progress.cell(cell)

    def _session(self, event: Session) -> None:
        self._begun.add((event.lane, event.part))
        planned = self._planned.get(event.lane, 0) + event.planned
        self._to.store.session(self._to.run, self.column, event.lane, event.versions, planned)
        self._to.measured[self.column] = event.versions.get("triton")
        for name, expected in self._expect.items():
            actual = str(event.versions.get(name))
            if not versions.as_planned(name, actual, expected):
                self.wrong = f"{name} {actual} was imported, planned was {expected}"
        self._planned[event.lane] = planned
        self._to.progress.planned(self.column, event.lane, event.planned)
        for item in self._ended:
            # Taken over, and counted from now on.
            if item.split("/", 2)[1] == event.lane and not event.part:
                self._to.progress.item(self.column, item)

    def account(self, status: int | None, out_of_time: bool) -> None:
        """After the suite is gone: every planned item has an outcome, or the run says which have none."""
        column = self.column
        if self.wrong or status == SUITE_WRONG_VERSIONS:
            message = (
                self.wrong or process.log_tail(self._log, 3) or "other versions than planned"
            ) + (f". Delete {self._work / 'envs' / column} and run again.")
            self._to.environment_failed = True
            self._to.not_run(self._plan.not_run(column, "wrong versions", message))
            self._to.problem(column, f"wrong versions: {message}")
            return
        died = self._left_open()
        if self._no_room or _no_room(self._work):
            message = "The disk is full or read-only. Free space (or choose another --work), and run again."
            self.left_open("not-run", "disk full", message)
            self._to.problem(column, f"{column}: {message}")
        elif out_of_time:
            self.left_open("timeout", "column limit", "The column's time limit ended it.")
            self._to.problem(
                column,
                f"{column}: not done after {self._plan.column_limit} s. Give it more with --column-limit.",
            )
        else:
            log = process.log_tail(self._log)
            message = f"The process ended in the middle of this case ({_ended_how(status)}).\n{log}"
            self.left_open("crash", "worker died", message)
        self._without_record()
        if not out_of_time:
            self._missing(status, bool(died))
        elif self._plan.work.BY_PART:
            # A target without any answer would pass for one that was not requested.
            self._parts_not_begun("column limit", "The column's time limit came before its turn.")
        if self._senseless:
            count = len(self._senseless)
            self._to.problem(
                column,
                f"{column}: {count} lines of its results could not be read ({self._senseless[0]}). See {self._log}.",
            )
        if self._lost:
            self._to.problem(
                column,
                f"{column}: {self._lost} announced results never arrived. See {self._log}, and run again.",
            )
        if self._twice:
            self._to.problem(
                column, f"{column}: {self._twice} cells were reported twice; the first is kept."
            )

    def _missing(self, status: int | None, died: bool) -> None:
        column, how = self.column, _ended_how(status)
        if not self._planned and not self._known:
            # Nothing even began, so the environment is most likely at fault.
            log = process.log_tail(self._log)
            message = (
                f"the suite did not start ({how}):\n{log}\nIts output is in {self._log}."
                f"{self._build_again()}"
            )
            self._to.environment_failed = True
            self._to.not_run(self._plan.not_run(column, "suite did not start", message))
            self._to.problem(column, f"{column}: {message}")
            return
        seen = Counter(item.split("/", 2)[1] for item in self._known)
        for lane in self._plan.lanes:
            planned = self._planned.get(lane)
            if planned is None:
                message = f"The {lane} lane did not say what it was going to run ({how})."
                if not seen[lane]:
                    cells = self._plan.not_run(column, "lane did not start", message)
                    self._to.not_run([cell for cell in cells if cell.lane == lane])
                self._to.problem(column, f"{column}: {message} See {self._log}, and run again.")
                continue
            message = f"The {lane} lane did not say what it was going to run there ({how})."
            if self._plan.work.BY_PART and (
                parts := self._parts_not_begun("lane did not start", message, [lane])
            ):
                where = ", ".join(parts)
                self._to.problem(column, f"{column}, {where}: {message} See {self._log}.")
            if planned > seen[lane]:
                self._to.problem(
                    column,
                    f"{column}: {planned - seen[lane]} of {planned} planned cases did not run in the {lane} lane "
                    f"({how}). See {self._log}, and run again.",
                )
            elif planned < seen[lane]:
                self._to.problem(
                    column,
                    f"{column}: the {lane} lane planned {planned} cases and reported {seen[lane]}. "
                    f"See {self._log}, and run again.",
                )
        if status and not died:
            self._to.problem(column, f"{column}: the suite ended with {how}. See {self._log}.")

    def _parts_not_begun(self, reason: str, message: str, lanes: Sequence[str] = ()) -> list[str]:
        """Stores that the parts of these lanes (of all, without any) which were never begun did not run; names them."""
        parts = {
            (lane, part)
            for lane in lanes or self._plan.lanes
            for part in self._plan.parts(lane)
            if (lane, part) not in self._begun
        }
        self._to.not_run([
            cell
            for cell in self._plan.not_run(self.column, reason, message)
            if (cell.lane, f"{cell.target}/{cell.mode}") in parts
        ])  # fmt: skip
        return [part for _, part in sorted(parts)]

    def _build_again(self) -> str:
        """Advice for an environment with a missing file. Only environments that we built are to be deleted."""
        home = self._work / "envs" / self.column
        if not home.is_dir():
            return " See that the suite's requirements are installed, and run again."
        return (
            " If its environment is broken, delete it and run again, which builds it anew: "
            f"rm -r {shlex.quote(str(home))}"
        )

    def _left_open(self) -> list[str]:
        return [item for item in self._known if item not in self._ended]

    def left_open(self, outcome: str, reason: str, message: str) -> None:
        """Gives the items that were begun and not ended this outcome."""
        # Part of the case may have been recorded before it died.
        self._keep([
            self._record(item, "worker died" if item in self._announced else "", outcome, reason, message)
            for item in self._left_open()
        ])  # fmt: skip

    def _without_record(self) -> None:
        """An item that is done has a cell; if that has not come, the item's outcome is unknown."""
        message = (
            "The case ended and its result did not come: it was not written, or its line could not be read. "
            f"See {self._log}, and run again."
        )
        self._keep([
            self._record(item, "", "crash", NO_RECORD, message)
            for item in self._known
            if item in self._ended - self._announced
        ])  # fmt: skip

    def _record(self, item: str, config: str, outcome: str, reason: str, message: str) -> Record:
        target, lane, mode, kernel, case = item.split("/", 4)
        return Record(
            self.column, target, lane, mode, kernel, case, config, outcome=outcome, reason=reason,
            fingerprint=reason, message=record.clean_text(message), phase="suite",
        )  # fmt: skip


def _no_room(folder: Path) -> bool:
    """Whether even a small file no longer fits."""
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(bytes(65536))
    except OSError:
        return True
    return False


def _ended_how(status: int | None) -> str:
    if status is None:
        return "ended by crosswarp"
    if status < 0:
        try:
            return signal.Signals(-status).name
        except ValueError:
            return f"signal {-status}"
    meaning = SUITE_STATUSES.get(status)
    return f"exit status {status}: {meaning}" if meaning and status else f"exit status {status}"
