"""The run itself: batches of programs through one column after the other, until the time is up."""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field

from crosswarp.matrix.facts.issues import Issue
from crosswarp.matrix.facts.language_table import Table

from . import generator, judging, known, languages
from .choices import Choices
from .corpus import Corpus
from .judging import Suspect
from .places import Place, Workers
from .program import IllDefined, Program
from .ran import Cell

# Programs that one column of a lane runs before the next, where not all workers stay alive: starting one takes seconds.
BATCH = 40
# The same of spread programs, for each place in which they begin.
SPREAD_BATCH = 16
# Batches that the lanes may begin while a finding of an earlier one is made small, which takes minutes.
AHEAD = 8
# One in so many of the spread programs is assembled like others.
_THOROUGH = 8
# Cells of a program that is spread and shows something: where it began, another target, the columns before and after.
_BESIDE = 4


# A batch, and the result of each lane's part.
_Running = tuple[Mapping[int, Program], list[Future[bool]]]


@dataclass
class Programs:
    """The programs of a seed, for these places.

    Half of them use only features that every release has, the other half those that the releases from one on have. A
    spread program uses the features of the release in which it begins.

    Attributes:
        places: in the order of their releases.
        everything: nothing is left out because it is known.
        spread: each begins in one place and on one target, and runs in the others if it shows something new there.
    """

    seed: int
    places: Sequence[Place]
    table: Table
    issues: Sequence[Issue]
    everything: bool = False
    spread: bool = False
    _languages: dict[tuple[str, ...], frozenset[str]] = field(default_factory=dict)

    def __call__(self, number: int) -> Program:
        names, avoided = self.language(self._meant(number)), self._avoided(number)
        return generator.seeded(self.seed, number, names, avoided)

    def make(self, number: int, name: str, choices: Choices) -> Program:
        """A program of other choices, of the language of program `number`."""
        names, avoided = self.language(self._meant(number)), self._avoided(number)
        return generator.generate(choices, name, names, avoided)

    def begins(self, number: int, targets: Collection[str]) -> tuple[Place, str]:
        """Where a program that is spread runs first."""
        every, sorted_targets = 2 * len(self.places), sorted(targets)
        return self._first(number), sorted_targets[number // every % len(sorted_targets)]

    def where(self, program: Program) -> list[Place]:
        """Places whose language has the features that the program needs."""
        return [place for place in self.places if program.needs <= self.language([place])]

    def language(self, places: Sequence[Place]) -> frozenset[str]:
        releases = tuple(place.release for place in places)
        if releases not in self._languages:
            self._languages[releases] = languages.common(self.table, releases)
        return self._languages[releases]

    def _first(self, number: int) -> Place:
        return self.places[number // 2 % len(self.places)]

    def _meant(self, number: int) -> Sequence[Place]:
        if number % 2 == 0:
            return self.places
        first = self._first(number)
        return [first] if self.spread else self.places[self.places.index(first) :]

    def _avoided(self, number: int) -> frozenset[str]:
        if self.everything:
            return frozenset()
        concerned = [self._first(number)] if self.spread else self._meant(number)
        return known.avoided(self.issues, {place.release for place in concerned}, number)


@dataclass
class Progress:
    """The progress of an exploration.

    Attributes:
        programs, cells: run so far, including earlier runs that it resumes.
        refused: programs that no column compiles, of those judged.
        unsupported: cells whose PTX cannot be executed here.
        ill_defined: generated programs that were invalid, and were not run.
        explained: the number of spread programs that showed a known issue or an earlier finding, by its name.
    """

    programs: int = 0
    cells: int = 0
    refused: int = 0
    unsupported: int = 0
    ill_defined: int = 0
    explained: Counter[str] = field(default_factory=Counter)


@dataclass
class Exploration:
    """Runs programs in every place, and stores the results in the corpus.

    Attributes:
        lanes: they run parts of the programs in parallel.
        explained: returns the known issue or finding that a cell of a spread program shows, or an empty text.
    """

    programs: Programs
    corpus: Corpus
    lanes: Sequence[Workers]
    targets: Collection[str]
    said: Callable[[str], None]
    explained: Callable[[Program, Cell], str]
    progress: Progress = field(default_factory=Progress)
    _explained: dict[int, str] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _ended: threading.Event = field(default_factory=threading.Event)

    def until(
        self, ends: float, count: int | None = None
    ) -> Generator[tuple[Program, int, list[Suspect]], None, None]:
        """Run programs until `ends` of `time.monotonic`, or `count` of them, and yield each that shows something.

        A batch that is not done in time is judged as far as it came; it is gone on with by the next run.
        """
        with ExitStack() as stack:
            # A worker dies with the thread that began it: each lane has one for as long as this goes on.
            threads = [stack.enter_context(ThreadPoolExecutor(1)) for _ in self.lanes]
            # However this ends, no lane begins another cell.
            stack.callback(self._end)
            batches, running = self._batches(count), deque[_Running]()
            self._go_on(running, batches, ends, threads)
            while running:
                batch, shares = running.popleft()
                done = all([share.result() for share in shares])
                # The lanes go on while the caller looks at the results of this batch.
                self._go_on(running, batches, ends, threads)
                for number, program in batch.items():
                    suspects = self._judged(number)
                    if suspects:
                        yield program, number, suspects
                if done:
                    self.corpus.mark(batch)
                self.said(f"{self.progress.programs} programs, {self.progress.cells} cells")

    def _batches(self, count: int | None) -> Iterator[Mapping[int, Program]]:
        begin = len(self.programs.places) * len(self.targets)
        size = (SPREAD_BATCH * begin if self.programs.spread else BATCH) * len(self.lanes)
        first = 0
        while count is None or first < count:
            numbers = range(first, first + size if count is None else min(first + size, count))
            first = numbers.stop
            yield dict(self._batch(numbers))

    def _go_on(
        self,
        running: deque[_Running],
        batches: Iterator[Mapping[int, Program]],
        ends: float,
        threads: Sequence[Executor],
    ) -> None:
        """Share the next batches among the lanes, as long as there are some, and time for them."""
        every = len(self.lanes)
        while len(running) < AHEAD and time.monotonic() < ends:
            batch = next(batches, None)
            if batch is None:
                return
            numbers = list(batch)
            shares = [{number: batch[number] for number in numbers[at::every]} for at in range(every)]  # fmt: skip
            futures = [
                thread.submit(self._share, lane, share, ends)
                for thread, lane, share in zip(threads, self.lanes, shares)
            ]
            running.append((batch, futures))

    def _end(self) -> None:
        self._ended.set()
        for lane in self.lanes:
            lane.interrupt()

    def _batch(self, numbers: Iterable[int]) -> Iterator[tuple[int, Program]]:
        for number in numbers:
            try:
                yield number, self.programs(number)
            except IllDefined:
                self.progress.ill_defined += 1

    def _share(self, lane: Workers, share: Mapping[int, Program], ends: float) -> bool:
        """Runs each column's missing cells of the share, column by column. Returns whether all of it ran."""
        for place in self.programs.places:
            began, done = time.monotonic(), 0
            for target in sorted(self.targets):
                for number, program in share.items():
                    if self.programs.spread and (place, target) != self._begins(number):
                        continue
                    if not self._wanted(place, number, program, target):
                        continue
                    if self._over(ends):
                        return False
                    quick = self.programs.spread and number % _THOROUGH != 0
                    done += self._ran(lane, place, number, program, target, quick)
            if done:
                self.said(f"  {place.column}: {done} cells in {time.monotonic() - began:.0f} s")
        if not self.programs.spread:
            return True
        remarkable = {n: program for n, program in share.items() if self._remarkable(n, program)}
        return all(
            self._beside(lane, number, program, ends) for number, program in remarkable.items()
        )

    def _begins(self, number: int) -> tuple[Place, str]:
        return self.programs.begins(number, self.targets)

    def _wanted(self, place: Place, number: int, program: Program, target: str) -> bool:
        return program.needs <= self.programs.language([place]) and not self.corpus.has(
            number, place.column, target
        )

    def _over(self, ends: float) -> bool:
        return self._ended.is_set() or time.monotonic() >= ends

    def _remarkable(self, number: int, program: Program) -> bool:
        """Whether a program shows something new where it began."""
        cells = [cell for cell in self._cells(number) if judging.kind(cell)]
        if len(cells) == 1 and (name := self.explained(program, cells[0])):
            self._explained[number] = name
            return False
        return bool(cells)

    def _beside(self, lane: Workers, number: int, program: Program, ends: float) -> bool:
        """Run it on the other targets, and in other columns, the nearest first, until some have nothing to show."""
        places = list(self.programs.places)
        first, on = self._begins(number)
        near = sorted(places, key=lambda place: abs(places.index(place) - places.index(first)))
        others = [(first, target) for target in sorted(self.targets)]
        for place, target in (*others, *((place, on) for place in near)):
            cells = self._cells(number)
            well = [one for one in cells if one.outcome == "pass" and not judging.kind(one)]
            if len(cells) >= _BESIDE and any(one.target == on for one in well):
                break
            if not self._wanted(place, number, program, target):
                continue
            if self._over(ends):
                return False
            self._ran(lane, place, number, program, target)
        return True

    def _cells(self, number: int) -> list[Cell]:
        return self.corpus.cells(number, [place.column for place in self.programs.places])

    def _ran(
        self,
        lane: Workers,
        place: Place,
        number: int,
        program: Program,
        target: str,
        quick: bool = False,
    ) -> bool:
        if not lane.compiles(place, target, program):
            return False
        try:
            cell = lane.run(place, program, target, quick=quick)
        except IllDefined:
            with self._lock:
                self.progress.ill_defined += 1
            return False
        with self._lock:
            if self._ended.is_set():
                # Its worker was ended meanwhile: no result.
                return False
            self.corpus.add(number, cell)
        return True

    def _judged(self, number: int) -> list[Suspect]:
        """Judges a program's cells; empty if an earlier run has judged it."""
        cells = self._cells(number)
        self.progress.programs += bool(cells)
        self.progress.cells += len(cells)
        self.progress.unsupported += sum(cell.outcome == "unsupported" for cell in cells)
        if number in self._explained:
            self.progress.explained[self._explained[number]] += 1
            return []
        self.progress.refused += bool(cells) and all(cell.refused for cell in cells)
        return [] if number in self.corpus.judged else judging.judge(cells)


def confirmed(suspect: Suspect, program: Program, place: Place, workers: Workers) -> Suspect:
    """A wrong number that no other cell shows, tried with other numbers of warps: the second witness.

    The same program also runs again: a result that differs between two runs is not believed.
    """
    if suspect.kind == judging.SLOW:
        again = workers.run(place, program, suspect.bad.target)
        other = suspect.good.compile_seconds if suspect.good is not None else None
        enough = max(judging.SLOW_SECONDS, judging.SLOWER * (other or 0.0))
        if (again.compile_seconds or 0) >= enough:
            return suspect
        return Suspect(suspect.kind, suspect.bad, suspect.good, "not slow once more")
    if suspect.kind != judging.NUMBERS:
        again = workers.run(place, program, suspect.bad.target)
        if again.outcome == suspect.bad.outcome and again.cause == suspect.bad.cause:
            return suspect
        return Suspect(suspect.kind, suspect.bad, suspect.good, "another end once more")
    if suspect.doubt != judging.ONE_WITNESS:
        return suspect
    for warps in (1, 2, 4, 8):
        if warps == program.options["num_warps"]:
            continue
        cell = workers.run(place, program, suspect.bad.target, {"num_warps": warps})
        if judging.witness(suspect.bad, cell):
            return Suspect(suspect.kind, suspect.bad, suspect.good)
    return suspect
