"""One column of a run: what its suite says as it runs, and what is missing when it is gone."""

from __future__ import annotations

import shlex
import signal
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from crosswarp.matrix import process, record, versions
from crosswarp.matrix.errors import SUITE_STATUSES, SUITE_WRONG_VERSIONS
from crosswarp.matrix.plan import Plan
from crosswarp.matrix.record import Record
from crosswarp.matrix.recording import Recording


class ColumnRun:
    """What is known of a column while its suite runs.

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
        # Which version is another than planned; empty while none is.
        self.wrong = ""
        self._plan = plan
        self._to = recording
        self._expect = expect
        self._work = work
        self._log = log
        self._planned: dict[str, int] = {}
        self._open: dict[str, None] = {}
        self._ended = 0
        self._configs: set[str] = set()
        self._broken_lines = 0
        self._twice = 0
        self._no_room = False

    def take(self, events: Iterable[dict[str, Any]]) -> None:
        """Stores what the cell side says. It runs strange code: what makes no sense is counted, not believed."""
        cells = []
        for event in events:
            kind = event["event"]
            try:
                if kind == "cell":
                    cell = record.from_event(event, self.column)
                    cells.append(cell)
                elif kind == "start":
                    self._open[str(event["item"])] = None
                elif kind == "end":
                    item = str(event["item"])
                    if item in self._open:
                        del self._open[item]
                        self._ended += 1
                        self._to.progress.item(self.column, item)
                elif kind == "session":
                    self._session(event)
                elif kind == "target":
                    self._to.store.target(
                        self._to.run, self.column, record.clean_text(str(event["target"])), event["supported"] is True,
                        record.clean_text(str(event.get("message") or "")),
                    )  # fmt: skip
                elif kind == "note":
                    self._to.note(self.column, record.clean_text(str(event["text"])))
                else:
                    self._broken_lines += 1
            except (KeyError, ValueError, TypeError):
                self._broken_lines += 1
        if cells:
            self._keep(cells)

    def _keep(self, cells: list[Record]) -> None:
        cells = [self._to.explained(cell) for cell in cells]
        self._twice += self._to.store.cells(self._to.run, cells)
        for cell in cells:
            self.outcomes[cell.outcome] += 1
            self._no_room = self._no_room or (cell.outcome, cell.reason) == ("not-run", "disk full")
            self._configs.add(f"{cell.item}/{cell.config}")
            self._to.progress.cell(cell)

    def _session(self, event: Mapping[str, Any]) -> None:
        lane, planned = str(event["lane"]), int(event["planned"])
        found = record.clean(dict(event.get("versions") or {}))
        self._to.store.session(self._to.run, self.column, lane, found, planned)
        self._to.measured[self.column] = str(found.get("triton") or "") or None
        for name, expected in self._expect.items():
            actual = str(found.get(name))
            if not versions.as_planned(name, actual, expected):
                self.wrong = f"{name} {actual} was imported, planned was {expected}"
        self._planned[lane] = planned
        self._to.progress.planned(self.column, lane, planned)

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
        died = len(self._open)
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
            said = process.log_tail(self._log)
            message = (
                f"The process ended in the middle of this case ({_ended_how(status)}).\n{said}"
            )
            self.left_open("crash", "worker died", message)
        planned = sum(self._planned.values())
        missing = planned - self._ended - died
        if not self._planned and not out_of_time:
            # Nothing even began: that is the environment's fault as far as anyone can tell.
            said = process.log_tail(self._log)
            message = (
                f"the suite did not start ({_ended_how(status)}):\n{said}\nIts output is in {self._log}."
                f"{self._build_again()}"
            )
            self._to.environment_failed = True
            self._to.not_run(self._plan.not_run(column, "suite did not start", message))
            self._to.problem(column, f"{column}: {message}")
        elif missing and not out_of_time:
            self._to.problem(
                column,
                f"{column}: {missing} of {planned} planned cases did not run ({_ended_how(status)}). "
                f"See {self._log}, and run again.",
            )
        elif status and not died and not out_of_time:
            self._to.problem(
                column, f"{column}: the suite ended with {_ended_how(status)}. See {self._log}."
            )
        if self._broken_lines:
            self._to.problem(
                column,
                f"{column}: {self._broken_lines} lines of its records made no sense. See {self._log}.",
            )
        if self._twice:
            self._to.problem(
                column, f"{column}: {self._twice} cells were reported twice; the first is kept."
            )

    def _build_again(self) -> str:
        """What helps where a file of the environment is gone. What we have not built is not to be deleted."""
        home = self._work / "envs" / self.column
        if not home.is_dir():
            return " See that the suite's requirements are installed, and run again."
        return (
            " If its environment is broken, delete it and run again, which builds it anew: "
            f"rm -r {shlex.quote(str(home))}"
        )

    def left_open(self, outcome: str, reason: str, message: str) -> None:
        cells = []
        for item in self._open:
            words = item.split("/", 4)
            if len(words) != 5 or words[1] not in record.LANES or words[2] not in record.MODES:
                self._broken_lines += 1
                continue
            # Part of the case may have been recorded before it died.
            config = "worker died" if f"{item}/" in self._configs else ""
            cells.append(
                Record(
                    self.column, words[0], words[1], words[2], words[3], words[4], config,
                    outcome=outcome, reason=reason, fingerprint=reason,
                    message=record.clean_text(message), phase="suite",
                )
            )  # fmt: skip
        self._keep(cells)


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
