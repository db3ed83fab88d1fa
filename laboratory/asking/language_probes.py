"""Probes the language of columns: each column's two lanes as processes in its own environment."""

from __future__ import annotations

import datetime
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from crosswarp.laboratory import bringing
from crosswarp.matrix.cell import protocol
from crosswarp.matrix.cell.asked import Asked
from crosswarp.matrix.cell.protocol import Done, Event, Probe, Senseless, Session
from crosswarp.matrix.environments.environment import Environment
from crosswarp.matrix.errors import SUITE_STATUSES, Cancelled, CrosswarpError, EnvironmentFailed
from crosswarp.matrix.facts import targets as targets_module
from crosswarp.matrix.facts.columns import Column
from crosswarp.matrix.facts.language_table import INTERPRETER, PASS, TARGETS, Name, Release
from crosswarp.matrix.results.record import RED
from crosswarp.matrix.running import asking
from crosswarp.matrix.running.run import Prepare
from crosswarp.matrix.running.signals import StopRequested

LANES = ("compile", "interpret")
_ABOUT = ("triton", "torch", "numpy", "python", "ptxas")
# The first sentence names the problem; the rest is for debugging.
_LONGEST = 160


def argv(python: Path, spec: Path) -> list[str]:
    return bringing.argv("language_probes", python, spec)


@dataclass
class _Answers:
    """The answers of one lane."""

    about: dict[str, str] = field(default_factory=dict)
    names: dict[str, Name] = field(default_factory=dict)
    probes: dict[str, dict[str, str]] = field(default_factory=dict)
    not_run: list[str] = field(default_factory=list)
    # How many probes the lane announced, if it did, and how many it reported.
    planned: int | None = None
    came: int = 0
    ended: bool = False


class Asker:
    """Asks columns, some at a time. `failed` holds why the others have no answer."""

    def __init__(
        self,
        prepare: Prepare,
        work: Path,
        names: Sequence[str],
        limits: Mapping[str, Any],
        jobs: int,
        column_limit: int,
        say: Callable[[str], None],
        *,
        here: bool = False,
    ) -> None:
        self._prepare = prepare
        self._work = work.absolute() / "language"
        self._names = names
        self._limits = limits
        self._jobs = jobs
        self._column_limit = column_limit
        self._say = say
        self._here = here
        self._stop = StopRequested()
        # Nobody waits for the answers any more.
        self._over = False
        self.failed: dict[str, CrosswarpError] = {}

    def __call__(self, columns: Sequence[Column]) -> Iterator[tuple[str, Release]]:
        """Yields the language of each column, by its id, as they end. Raises Cancelled on Ctrl-C."""
        asked: dict[str, list[Future[_Answers]]] = {}
        with self._stop, ThreadPoolExecutor(self._jobs) as pool:
            for column in columns:
                if self._stop:
                    break
                try:
                    environment = self._prepare(column)
                except EnvironmentFailed as error:
                    self.failed[column.id] = error
                    continue
                lanes = [pool.submit(self._lane, column, environment, lane) for lane in LANES]
                asked[column.id] = lanes
                _when_done(lanes, environment.release)
            try:
                for name, lanes in asked.items():
                    release = self._answer(name, lanes)
                    if release is not None:
                        yield name, release
            finally:
                self._over = True
            if self._stop:
                raise Cancelled("cancelled; what had finished before is kept")

    def _answer(self, column: str, lanes: Sequence[Future[_Answers]]) -> Release | None:
        try:
            compiled, interpreted = (lane.result() for lane in lanes)
        except CrosswarpError as error:
            self.failed[column] = error
            return None
        not_run = compiled.not_run + interpreted.not_run
        if not_run:
            # The answers of the others stand; these stay unknown.
            self.failed[column] = CrosswarpError(
                f"{column}: {len(not_run)} probes could not be run: {'; '.join(not_run[:3])}. "
                "Correct these in laboratory/cell/language_probes."
            )
        probes = {**interpreted.probes}
        for probe, places in compiled.probes.items():
            probes[probe] = {**places, **probes.get(probe, {})}
        today = datetime.date.today().isoformat()
        return Release({**compiled.about, "checked": today}, compiled.names, probes)

    def _lane(self, column: Column, environment: Environment, lane: str) -> _Answers:
        folder = self._work / f"{column.id}-{lane}"
        shutil.rmtree(folder, ignore_errors=True)
        cache = folder / "cache"
        cache.mkdir(parents=True)
        table = targets_module.load()
        spec, records, log = folder / "spec.json", folder / "records.jsonl", folder / "log"
        asked = Asked(
            column=column.id, expect=dict(environment.expect), records=str(records), cache=str(cache),
            targets={name: asdict(table[name]) for name in TARGETS}, lanes=[lane],
            kernels=list(self._names), **self._limits,
        )  # fmt: skip
        answers = _Answers()
        command = argv(environment.python, asking.write(asked, spec))
        with asking.Process(command, log, folder, here=self._here, records=records) as cell:
            ended = cell.heard(
                self._column_limit,
                lambda: bool(self._stop or self._over),
                partial(_take_all, answers),
            )
        if not answers.ended:
            raise self._ended_early(column, lane, ended)
        if answers.came != answers.planned:
            answers.not_run.append(
                f"{answers.came} came of {answers.planned or 'an unknown number'} planned"
            )
        shutil.rmtree(folder, ignore_errors=True)
        self._say(f"{column.id}: {lane}: {len(answers.probes)} probes in {ended.seconds:.0f} s")
        return answers

    def _ended_early(self, column: Column, lane: str, ended: asking.Ended) -> CrosswarpError:
        if self._stop:
            return Cancelled("cancelled")
        how = (
            f"took longer than {self._column_limit} s (--column-limit)"
            if ended.status is None
            else f"ended with status {ended.status} before its last probe{_meaning(ended.status)}"
        )
        return CrosswarpError(
            f"{column.id}: {lane}: {how}:\n{ended.log_end()}\nThe log is {ended.log}. Correct that, and run again."
        )


def _when_done(futures: Sequence[Future[Any]], act: Callable[[], None]) -> None:
    """Calls `act` when the last of them is done."""

    def one_done(future: Future[Any]) -> None:
        if all(other.done() for other in futures):
            act()

    for future in futures:
        future.add_done_callback(one_done)


def _meaning(status: int) -> str:
    return f" ({SUITE_STATUSES[status]})" if status in SUITE_STATUSES else ""


def _take_all(answers: _Answers, events: Iterable[Event | Senseless]) -> None:
    for event in events:
        take(answers, event)


def take(answers: _Answers, event: Event | Senseless) -> None:
    """Adds one event. An invalid one is counted: it may have been a probe."""
    if isinstance(event, Session) and answers.planned is None:
        answers.planned = event.planned
        answers.about.update(
            {name: event.versions[name] for name in _ABOUT if name in event.versions}
        )
    elif isinstance(event, Done):
        answers.ended = True
    elif isinstance(event, protocol.Name):
        answers.names[event.name] = Name(event.kind, event.signature)
    elif isinstance(event, Probe) and event.where in (*TARGETS, INTERPRETER):
        answers.came += 1
        if event.outcome != PASS and event.outcome not in RED:
            answers.not_run.append(f"{event.id}: {event.fingerprint[:_LONGEST]}")
            return
        text = PASS if event.outcome == PASS else _failure(event)
        answers.probes.setdefault(event.id, {})[event.where] = text
    else:
        why = event.why if isinstance(event, Senseless) else f"{event.EVENT}: not of a probe here"
        answers.not_run.append(f"a line that makes no sense ({why})")


def _failure(probe: Probe) -> str:
    """`compile-error: … has no attribute '…'`: failures for one reason have one text, whatever the name."""
    own = probe.name.rpartition(".")[2]
    fingerprint = probe.fingerprint[:_LONGEST]
    text = re.sub(rf"(['\"`]){re.escape(own)}\1", r"\1…\1", fingerprint)
    # A mismatch says so itself.
    return text if text.startswith(f"{probe.outcome}:") else f"{probe.outcome}: {text}"
