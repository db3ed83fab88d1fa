"""One run: plan, environment, run, record, compare.

Columns run one after the other, each in the suite process of its environment. Columns with little left to run go side
by side. The next environments are prepared meanwhile. Cells are written as they come, so finished ones are in the
store even if the run ends early.
"""

from __future__ import annotations

import errno
import shutil
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from crosswarp.matrix.environments import locks, removal
from crosswarp.matrix.environments.environment import Environment
from crosswarp.matrix.errors import (
    EXIT_CANCELLED,
    EXIT_ENVIRONMENT,
    EXIT_EXPECTED,
    EXIT_STORE,
    EXIT_UNEXPECTED,
    EXIT_USAGE,
    Cancelled,
    CrosswarpError,
    StoreError,
    WorkError,
)
from crosswarp.matrix.facts.columns import Column
from crosswarp.matrix.facts.issues import Issue
from crosswarp.matrix.results import journal, store
from crosswarp.matrix.results.record import Record
from crosswarp.matrix.running import asking, unchanged
from crosswarp.matrix.running.column_run import ColumnRun
from crosswarp.matrix.running.plan import Coordinate, Judged, Plan
from crosswarp.matrix.running.progress import Progress
from crosswarp.matrix.running.recording import Recording
from crosswarp.matrix.running.signals import StopRequested

_ENDED = object()


class Prepare(Protocol):
    def __call__(self, column: Column) -> Environment: ...

    def cancel(self) -> None: ...


def exit_code(
    records: Sequence[Record],
    verdict: Judged,
    *,
    planned: Mapping[tuple[str, str], int],
    environment_failed: bool,
    problems: bool,
) -> int:
    """The exit status of a run that came to its end. `planned`: the number of cases, by column and lane."""
    if environment_failed:
        return EXIT_ENVIRONMENT
    if not verdict.as_expected or problems or unaccounted(planned, records):
        return EXIT_UNEXPECTED
    # A run without results must not pass.
    return EXIT_EXPECTED if any(cell.ran for cell in records) else EXIT_USAGE


def unaccounted(
    planned: Mapping[tuple[str, str], int], records: Iterable[Record]
) -> dict[tuple[str, str], int]:
    """How many planned cases have no record at all, by column and lane, where there are any."""
    seen: dict[tuple[str, str], set[str]] = {}
    for record in records:
        # A record for a kernel whose cases could not be listed is no planned case.
        if record.case != "*":
            seen.setdefault((record.column, record.lane), set()).add(record.item)
    lacking = {key: count - len(seen.get(key, ())) for key, count in planned.items()}
    return {key: count for key, count in lacking.items() if count > 0}


@dataclass
class Result:
    run: int
    exit_code: int
    verdict: Judged


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
        here: bool = False,
        remove: bool = False,
        command: Callable[[Path, Path], list[str]] | None = None,
    ) -> None:
        self.plan = plan
        self._store = data
        self._work = work
        self._prepare = prepare
        self._progress = progress
        self._recording = Recording(data, progress, issues)
        self._argv = argv
        # Replaces the command that the work runs in a column.
        self._command = command or plan.work.argv
        self._here = here
        # Whether a column's environment goes when the column has run, so that the disk holds one at a time.
        self._remove = remove
        self._issues = issues
        self._stop = StopRequested()
        # Columns that have begun and go on by themselves.
        self._beside: deque[Generator[None, None, None]] = deque()

    def __call__(self) -> Result:
        for cut_off in journal.read_back(self._store, self._recording.explained):
            self._progress.say(
                f"The last run ({cut_off.id}, started {cut_off.started}) was cut off; "
                f"the {cut_off.cells} cells that it had finished are kept: crosswarp report --run {cut_off.id}"
            )
        self._store.mark_cut_off()
        self._recording.run = self._store.begin(self._argv, self.plan.describe(), work=self._work)
        self._progress.begins(len(self.plan.columns))
        # One thread: environments are prepared in order, ahead of the column that runs.
        pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="environment")
        try:
            with self._stop:
                prepared = self._prepared(pool)
                for column, future in prepared:
                    self._progress.preparing(column.id)
                    environment = self._environment(column, future)
                    going = self._column(column, environment)
                    # It has ended, or has so little to run that another may begin meanwhile.
                    if next(going, _ENDED) is not _ENDED:
                        self._beside.append(going)
                    # Where environments are removed the disk holds one at a time.
                    self._end_beside(0 if self._remove else self.plan.jobs - 1)
                self._end_beside()
                if self._stop:
                    self._store.finish(self._run, "cancelled", EXIT_CANCELLED)
        except WorkError:
            self._store.finish(self._run, "failed", EXIT_STORE)
            raise
        except StoreError as error:
            raise StoreError(
                f"{error}\nThe results of this run are also in {self._folder}."
            ) from error
        except BaseException:
            self._store.finish(self._run, "failed", None)
            raise
        finally:
            for going in self._beside:
                going.close()
            self._prepare.cancel()
            pool.shutdown(wait=False, cancel_futures=True)
        if self._stop:
            raise Cancelled(
                f"Cancelled. What had finished is kept as run {self._run}: crosswarp report --run {self._run}"
            )
        return self._finish()

    def _prepared(self, pool: ThreadPoolExecutor) -> Iterable[tuple[Column, Future[Environment]]]:
        """Each column with its environment to be; where environments are removed, none before the last one is gone."""
        if self._remove:
            return ((column, pool.submit(self._prepare, column)) for column in self.plan.columns)
        return [(column, pool.submit(self._prepare, column)) for column in self.plan.columns]

    def _removed(self, column: Column) -> None:
        """Its environment and Triton's compiled files, of which nothing more is read."""
        problem = removal.remove(self._work, column.id)
        if problem:
            self._recording.note(column.id, problem)

    @property
    def _run(self) -> int:
        return self._recording.run

    @property
    def _folder(self) -> Path:
        return self._folder_of(self._store.run(self._run))

    def _folder_of(self, run: store.Run) -> Path:
        return journal.folder(self._work, self._store.path, run)

    def _environment(self, column: Column, future: Future[Environment]) -> Environment | None:
        started = time.monotonic()
        try:
            while not future.done() and not self._stop:
                time.sleep(0.05)
            if self._stop:
                message = "The run was cancelled before its turn."
                self._recording.not_run(self.plan.not_run(column.id, "cancelled", message))
                return None
            environment = future.result()
        except CrosswarpError as error:
            self._recording.environment_failed = True
            message = str(error)
            self._store.environment(
                self._run,
                store.Environment(
                    column.id, column.id, "failed", message, {}, (), time.monotonic() - started
                ),
            )
            self._recording.not_run(self.plan.not_run(column.id, "environment failed", message))
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
            self._recording.note(column.id, note)
        return environment

    def _end_beside(self, left: int = 0) -> None:
        """Wait for columns that go on by themselves, until no more than so many are left."""
        while len(self._beside) > left:
            for _ in self._beside.popleft():
                pass

    def _column(
        self, column: Column, environment: Environment | None
    ) -> Generator[None, None, None]:
        """Run a column; where there is little to run it stops once in between, and waits when it goes on."""
        if environment:
            try:
                yield from self._with_cache(column, environment)
            finally:
                environment.release()
        if self._remove:
            self._removed(column)

    def _with_cache(self, column: Column, environment: Environment) -> Generator[None, None, None]:
        try:
            cache, hold = self._cache(column)
        except OSError as error:
            raise self._no_work(error) from error
        try:
            yield from self._suite_of(column, environment, cache)
        finally:
            hold.release()
            if cache.parent != self._caches:
                shutil.rmtree(cache, ignore_errors=True)

    @property
    def _caches(self) -> Path:
        return self._work / "cache"

    def _cache(self, column: Column) -> tuple[Path, locks.Hold]:
        """Triton's own cache, whose keys hold the compiler's build and all that a kernel's code depends on, and what
        keeps another run from emptying it meanwhile."""
        cache, lock = self._caches / column.id, self._caches / f"{column.id}.lock"
        self._caches.mkdir(parents=True, exist_ok=True)
        if self.plan.fresh:
            alone = locks.try_change(lock)
            if alone is None:
                # Other runs that use it compile into it; fresh compilations go elsewhere, and are deleted.
                hold = locks.use(lock, lambda: None, lambda: False)
                fresh = self._folder / f"{column.id}.cache"
                fresh.mkdir(parents=True, exist_ok=True)
                return fresh, hold
            try:
                shutil.rmtree(cache, ignore_errors=True)
                cache.mkdir(exist_ok=True)
            finally:
                alone.release()
        hold = locks.use(lock, lambda: None, lambda: False)
        cache.mkdir(exist_ok=True)
        return cache, hold

    def _no_work(self, error: OSError) -> WorkError:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        why = "the disk is full" if full else error.strerror or type(error).__name__
        todo = "Free space" if full else "Change its rights"
        return WorkError(
            f"{error.filename or self._work}: {why}. {todo}, or name another folder with --work, and run again. "
            f"What had finished is kept: crosswarp report --run {self._run}"
        )

    def _suite_of(
        self, column: Column, environment: Environment, cache: Path
    ) -> Generator[None, None, None]:
        started = time.monotonic()
        folder = self._folder
        records, log = folder / f"{column.id}.jsonl", folder / f"{column.id}.log"
        spec = folder / f"{column.id}.spec.json"
        keys, earlier = self._unchanged(column, environment)
        again = None if earlier.whole is None else earlier.again_by_lane
        if not again:
            # With nothing beside it: it takes all cores.
            self._end_beside()
        try:
            folder.mkdir(parents=True, exist_ok=True)
            request = self.plan.spec(
                column.id, environment.expect, records.resolve(), cache.resolve(), earlier.items,
                again, earlier.planned, (folder / "turns").resolve(),
            )  # fmt: skip
            asking.write(request, spec)
            # The suite writes its output there; no room for it is no fault of the suite's.
            log.touch()
        except OSError as error:
            raise self._no_work(error) from error
        self._progress.column(column.id, environment.label)
        state = ColumnRun(
            column.id, self.plan, self._recording, environment.expect, self._work, log
        )
        if earlier.cells and self.plan.shard and earlier.whole is None:
            state.offer(earlier)
        elif earlier.cells:
            state.take_over(earlier)
        ended: tuple[int | None, bool] = (0, False)
        if earlier.whole is not None:
            state.take(unchanged.whole_column(self._store, earlier.whole, column.id, earlier.again))
        if earlier.whole is None or again:
            ended = yield from self._watched(environment, state, spec, log, records, bool(again))
        if state.reused and (self.plan.shard and earlier.whole is None):
            self._recording.note(column.id, unchanged.message(column.id, state.reused))
        if self._stop and ended[0] is None:
            message = "The run was cancelled while it ran."
            state.left_open("not-run", "cancelled", message)
        else:
            state.account(*ended)
        if state.whole:
            self._store.keys(
                self._run, column.id,
                {tuple(names): unchanged.of_share(key, self.plan.shard) for names, key in keys.items()},
            )  # fmt: skip
        self._progress.column_done(column.id, state.outcomes, time.monotonic() - started)

    def _unchanged(
        self, column: Column, environment: Environment
    ) -> tuple[Mapping[Coordinate, str], unchanged.Taken]:
        # A user's own interpreter without an identity may have changed unnoticed.
        if self.plan.take == "nothing" or (self._here and not environment.identity):
            return {}, unchanged.Taken()
        keys = self.plan.work.keys(self.plan, column.id, environment)
        if self.plan.fresh or not keys:
            return keys, unchanged.Taken()
        crashes = self.plan.take == "everything"
        return keys, unchanged.take(self._store, self.plan, column.id, keys, crashes=crashes)

    def _watched(
        self,
        environment: Environment,
        state: ColumnRun,
        spec: Path,
        log: Path,
        records: Path,
        beside: bool,
    ) -> Generator[None, None, tuple[int | None, bool]]:
        """How the suite of a column ended, None if we ended it, and whether it was out of time.

        With `beside` it stops when the suite has been started.
        """
        folder = self._folder
        cell = asking.Process(
            self._command(environment.python, spec.resolve()),
            log,
            # Away from the user's folder: its modules must not be imported instead of the installed ones.
            folder.resolve() if not self._here else Path.cwd(),
            here=self._here,
            records=records,
        )
        with cell:
            if beside:
                yield
            ended = cell.heard(
                self.plan.column_limit, lambda: bool(state.wrong or self._stop), state.take
            )
        return ended.status, ended.out_of_time

    def _finish(self) -> Result:
        records = self._store.records(self._run)
        verdict = self.plan.work.judge(records, self._issues)
        code = exit_code(
            records,
            verdict,
            planned=self._store.planned(self._run),
            environment_failed=self._recording.environment_failed,
            problems=self._recording.problems,
        )
        if code == EXIT_USAGE:
            if self.plan.shard:
                # The other shards have the cases, and the merged run is judged as a whole.
                code = EXIT_EXPECTED
                self._progress.say("This shard has no case that runs.")
            elif not any(cell.outcome == "not-run" and cell.message for cell in records):
                self._recording.problem("", self.plan.work.NOTHING_RAN)
        self._store.finish(self._run, "finished", code)
        return Result(self._run, code, verdict)
