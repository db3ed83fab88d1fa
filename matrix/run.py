"""One run: plan, environment, run, record, compare.

Columns run one after the other, each in the suite process of its own environment; the next environments are prepared
meanwhile. Whatever ends the run early, what had finished is in the store: cells are written as they come.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from crosswarp.matrix import issues as issues_module
from crosswarp.matrix import process, record, store, versions
from crosswarp.matrix.columns import Column
from crosswarp.matrix.environment import Environment
from crosswarp.matrix.errors import Cancelled, CrosswarpError, StoreError
from crosswarp.matrix.issues import Issue
from crosswarp.matrix.plan import Plan
from crosswarp.matrix.record import Record
from crosswarp.matrix.signals import StopRequested
from crosswarp.matrix.stream import Tail

WRONG_VERSIONS = 4
_POLL = 0.2

EXIT_EXPECTED, EXIT_UNEXPECTED, EXIT_USAGE, EXIT_ENVIRONMENT, EXIT_CANCELLED = 0, 1, 2, 3, 130
NOTHING_RAN = "No case ran: the chosen kernels have none for these lanes. Choose others."


class Prepare(Protocol):
    def __call__(self, column: Column) -> Environment: ...

    def cancel(self) -> None: ...


class Progress(Protocol):
    def say(self, text: str) -> None: ...

    def column(self, column: str, label: str) -> None: ...

    def planned(self, column: str, lane: str, items: int) -> None: ...

    def item(self, column: str, item: str) -> None: ...

    def cell(self, cell: Record) -> None: ...

    def column_done(self, column: str, outcomes: Mapping[str, int], seconds: float) -> None: ...


def exit_code(
    records: Sequence[Record], verdict: Any, *, environment_failed: bool, problems: bool
) -> int:
    """Of a run that came to its end."""
    if environment_failed:
        return EXIT_ENVIRONMENT
    if not verdict.as_expected or problems:
        return EXIT_UNEXPECTED
    # Green without having looked would be the worst of lies.
    return EXIT_EXPECTED if any(cell.ran for cell in records) else EXIT_USAGE


def suite_argv(python: Path, spec: Path) -> list[str]:
    return [str(python), "-m", "crosswarp.matrix.suite", str(spec)]


@dataclass
class Result:
    run: int
    exit_code: int
    verdict: Any


@dataclass
class _ColumnRun:
    """What is known of a column while its suite runs."""

    planned: dict[str, int] = field(default_factory=dict)
    open: dict[str, None] = field(default_factory=dict)
    ended: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    configs: set[str] = field(default_factory=set)
    wrong: str = ""
    broken_lines: int = 0
    twice: int = 0
    no_room: bool = False


class Runner:
    def __init__(
        self,
        plan: Plan,
        data: store.Store,
        work: Path,
        prepare: Prepare,
        progress: Progress,
        issues: Sequence[Issue] = (),
        argv: Sequence[str] = (),
        suite: Callable[[Path, Path], list[str]] = suite_argv,
        here: bool = False,
        judge: Callable[[Sequence[Record]], Any] | None = None,
    ) -> None:
        self.plan = plan
        self._store = data
        self._work = work
        self._prepare = prepare
        self._progress = progress
        self._issues = issues
        self._argv = argv
        self._suite = suite
        self._here = here
        # What is expected of the records; anything with `as_expected` will do.
        self._judge = judge or (lambda records: issues_module.judge(records, issues))
        self._stop = StopRequested()
        self._run = 0
        # The Triton that each column's suite has imported.
        self._measured: dict[str, str | None] = {}
        self._environment_failed = False
        self._problems = False

    def __call__(self) -> Result:
        for cut_off in self._store.mark_cut_off():
            cells = self._salvage(cut_off)
            self._progress.say(
                f"The last run ({cut_off.id}, started {cut_off.started}) was cut off; "
                f"the {cells} cells that it had finished are kept: crosswarp report --run {cut_off.id}"
            )
        self._run = self._store.begin(self._argv, self.plan.describe())
        # One thread: environments are prepared in order, ahead of the column that runs.
        pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="environment")
        try:
            with self._stop:
                prepared = [
                    (column, pool.submit(self._prepare, column)) for column in self.plan.columns
                ]
                for column, future in prepared:
                    environment = self._environment(column, future)
                    if environment:
                        self._column(column, environment)
                if self._stop:
                    self._store.finish(self._run, "cancelled", EXIT_CANCELLED)
        except StoreError as error:
            raise StoreError(
                f"{error}\nThe records of this run are also in {self._folder}."
            ) from error
        except BaseException:
            self._store.finish(self._run, "failed", None)
            raise
        finally:
            self._prepare.cancel()
            pool.shutdown(wait=False, cancel_futures=True)
        if self._stop:
            raise Cancelled(
                f"Cancelled. What had finished is kept as run {self._run}: crosswarp report --run {self._run}"
            )
        return self._finish()

    def _salvage(self, cut_off: store.Run) -> int:
        """Stores what a killed run's cells had written and its host had not read yet."""
        for records in sorted(self._folder_of(cut_off).glob("*.jsonl")):
            cells = []
            for event in Tail(records).finish():
                try:
                    if event["event"] == "cell":
                        cells.append(self._explained(record.from_event(event, records.stem)))
                except ValueError:
                    continue
            self._store.cells(cut_off.id, cells)
        return self._store.run(cut_off.id).cells

    @property
    def _folder(self) -> Path:
        return self._folder_of(self._store.run(self._run))

    def _folder_of(self, run: store.Run) -> Path:
        # Named for store and start as well: several stores may share a work folder, and a store may be made anew.
        store_name = hashlib.sha256(str(self._store.path.resolve()).encode()).hexdigest()[:6]
        started = re.sub(r"[^0-9]", "", run.started)[:14]
        return self._work / "runs" / f"{started}-{store_name}-{run.id}"

    def _environment(self, column: Column, future: Future[Environment]) -> Environment | None:
        started = time.monotonic()
        try:
            while not future.done() and not self._stop:
                time.sleep(0.05)
            if self._stop:
                message = "The run was cancelled before its turn."
                self._store.cells(self._run, self.plan.not_run(column.id, "cancelled", message))
                return None
            environment = future.result()
        except CrosswarpError as error:
            self._environment_failed = True
            message = str(error)
            self._store.environment(
                self._run,
                store.Environment(
                    column.id, column.id, "failed", message, {}, (), time.monotonic() - started
                ),
            )
            self._store.cells(
                self._run, self.plan.not_run(column.id, "environment failed", message)
            )
            self._progress.say(message)
            return None
        self._store.environment(
            self._run,
            store.Environment(
                column.id,
                environment.label,
                "ready",
                "reused" if environment.reused else "built",
                environment.versions,
                environment.requirements,
                environment.seconds,
                environment.overrides,
            ),  # fmt: skip
        )
        for note in environment.notes:
            self._note(column.id, note)
        return environment

    def _column(self, column: Column, environment: Environment) -> None:
        started = time.monotonic()
        folder = self._folder
        folder.mkdir(parents=True, exist_ok=True)
        records, log = folder / f"{column.id}.jsonl", folder / f"{column.id}.log"
        spec = folder / f"{column.id}.spec.json"
        # Triton's own cache: its keys hold the compiler's build and all that a kernel's code depends on.
        cache = self._work / "cache" / column.id
        if self.plan.fresh:
            shutil.rmtree(cache, ignore_errors=True)
        cache.mkdir(parents=True, exist_ok=True)
        spec.write_text(
            json.dumps(
                self.plan.spec(column.id, environment.expect, records.resolve(), cache.resolve()),
                indent=1,
            )
        )
        self._progress.column(column.id, environment.label)
        state, tail = _ColumnRun(), Tail(records)
        suite = process.SuiteProcess(
            self._suite(environment.python, spec.resolve()),
            log,
            process.cell_environ(os.environ, here=self._here),
            # Away from the user's folder: what lies there must not be imported instead of what is installed.
            cwd=folder.resolve() if not self._here else Path.cwd(),
        )
        status, out_of_time = None, False
        try:
            while (status := suite.wait(_POLL)) is None and not state.wrong and not self._stop:
                self._take(column.id, environment, state, tail.poll())
                if time.monotonic() - started > self.plan.column_limit:
                    out_of_time = True
                    break
        finally:
            suite.end()
        self._take(column.id, environment, state, tail.finish())
        if self._stop and status is None:
            message = "The run was cancelled while it ran."
            self._left_open(column.id, state, "not-run", "cancelled", message)
        else:
            self._account(column.id, state, status, out_of_time, log)
        self._progress.column_done(column.id, state.outcomes, time.monotonic() - started)

    def _take(
        self,
        column: str,
        environment: Environment,
        state: _ColumnRun,
        events: Iterator[dict[str, Any]],
    ) -> None:
        """Stores what the cell side says. It runs strange code: what makes no sense is counted, not believed."""
        cells = []
        for event in events:
            kind = event["event"]
            try:
                if kind == "cell":
                    cell = record.from_event(event, column)
                    cells.append(cell)
                elif kind == "start":
                    state.open[str(event["item"])] = None
                elif kind == "end":
                    item = str(event["item"])
                    if item in state.open:
                        del state.open[item]
                        state.ended += 1
                        self._progress.item(column, item)
                elif kind == "session":
                    self._session(column, environment, state, event)
                elif kind == "target":
                    self._store.target(
                        self._run, column, record.clean_text(str(event["target"])), event["supported"] is True,
                        record.clean_text(str(event.get("message") or "")),
                    )  # fmt: skip
                elif kind == "note":
                    self._note(column, record.clean_text(str(event["text"])))
                else:
                    state.broken_lines += 1
            except (KeyError, ValueError, TypeError):
                state.broken_lines += 1
        if cells:
            self._keep(state, cells)

    def _keep(self, state: _ColumnRun, cells: list[Record]) -> None:
        cells = [self._explained(cell) for cell in cells]
        state.twice += self._store.cells(self._run, cells)
        for cell in cells:
            state.outcomes[cell.outcome] += 1
            state.no_room = state.no_room or (cell.outcome, cell.reason) == ("not-run", "disk full")
            state.configs.add(f"{cell.item}/{cell.config}")
            self._progress.cell(cell)

    def _explained(self, cell: Record) -> Record:
        issue = issues_module.classify(cell, self._issues, self._version_of(cell.column))
        return cell.with_issue(issue.id) if issue else cell

    def _version_of(self, column: str) -> str | None:
        return self._measured.get(column) or versions.of_column(column)

    def _session(
        self, column: str, environment: Environment, state: _ColumnRun, event: Mapping[str, Any]
    ) -> None:
        lane, planned = str(event["lane"]), int(event["planned"])
        found = record.clean(dict(event.get("versions") or {}))
        self._store.session(self._run, column, lane, found, planned)
        self._measured[column] = str(found.get("triton") or "") or None
        for name, expected in environment.expect.items():
            actual = str(found.get(name))
            if not versions.as_planned(name, actual, expected):
                state.wrong = f"{name} {actual} was imported, planned was {expected}"
        state.planned[lane] = planned
        self._progress.planned(column, lane, planned)

    def _account(
        self, column: str, state: _ColumnRun, status: int | None, out_of_time: bool, log: Path
    ) -> None:
        """After the suite is gone: every planned item has an outcome, or the run says which have none."""
        if state.wrong or status == WRONG_VERSIONS:
            message = (state.wrong or process.log_tail(log, 3) or "other versions than planned") + (
                f". Delete {self._work / 'envs' / column} and run again."
            )
            self._environment_failed = True
            self._store.cells(self._run, self.plan.not_run(column, "wrong versions", message))
            self._problem(column, f"wrong versions: {message}")
            return
        died = len(state.open)
        if state.no_room or _no_room(self._work):
            message = "The disk is full or read-only. Free space (or choose another --work), and run again."
            self._left_open(column, state, "not-run", "disk full", message)
            self._problem(column, f"{column}: {message}")
        elif out_of_time:
            self._left_open(
                column, state, "timeout", "column limit", "The column's time limit ended it."
            )
            self._problem(
                column,
                f"{column}: not done after {self.plan.column_limit} s. Give it more with --column-limit.",
            )
        else:
            said = process.log_tail(log)
            message = (
                f"The process ended in the middle of this case ({_ended_how(status)}).\n{said}"
            )
            self._left_open(column, state, "crash", "worker died", message)
        planned = sum(state.planned.values())
        missing = planned - state.ended - died
        if not state.planned and not out_of_time:
            # Nothing even began: that is the environment's fault as far as anyone can tell.
            said = process.log_tail(log)
            message = (
                f"the suite did not start ({_ended_how(status)}):\n{said}\nIts output is in {log}."
            )
            self._environment_failed = True
            self._store.cells(self._run, self.plan.not_run(column, "suite did not start", message))
            self._problem(column, f"{column}: {message}")
        elif missing and not out_of_time:
            self._problem(
                column,
                f"{column}: {missing} of {planned} planned cases did not run ({_ended_how(status)}). "
                f"See {log}, and run again.",
            )
        elif status and not died and not out_of_time:
            self._problem(
                column, f"{column}: the suite ended with {_ended_how(status)}. See {log}."
            )
        if state.broken_lines:
            self._problem(
                column,
                f"{column}: {state.broken_lines} lines of its records made no sense. See {log}.",
            )
        if state.twice:
            self._problem(
                column, f"{column}: {state.twice} cells were reported twice; the first is kept."
            )

    def _left_open(
        self, column: str, state: _ColumnRun, outcome: str, reason: str, message: str
    ) -> None:
        cells = []
        for item in state.open:
            words = item.split("/", 4)
            if len(words) != 5 or words[1] not in record.LANES or words[2] not in record.MODES:
                state.broken_lines += 1
                continue
            # Part of the case may have been recorded before it died.
            config = "worker died" if f"{item}/" in state.configs else ""
            cells.append(
                Record(
                    column, words[0], words[1], words[2], words[3], words[4], config,
                    outcome=outcome, reason=reason, fingerprint=reason,
                    message=record.clean_text(message), phase="suite",
                )
            )  # fmt: skip
        self._keep(state, cells)

    def _finish(self) -> Result:
        records = self._store.records(self._run)
        verdict = self._judge(records)
        code = exit_code(
            records, verdict, environment_failed=self._environment_failed, problems=self._problems
        )
        if code == EXIT_USAGE:
            if self.plan.shard:
                # The other shards have the cases, and the merged run is judged as a whole.
                code = EXIT_EXPECTED
                self._progress.say("This shard has no case that runs.")
            else:
                self._problem("", NOTHING_RAN)
        self._store.finish(self._run, "finished", code)
        return Result(self._run, code, verdict)

    def _note(self, column: str, text: str) -> None:
        self._store.note(self._run, column, text)
        self._progress.say(text)

    def _problem(self, column: str, text: str) -> None:
        self._problems = True
        self._store.note(self._run, column, text, kind="problem")
        self._progress.say(text)


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
    return f"exit status {status}"
