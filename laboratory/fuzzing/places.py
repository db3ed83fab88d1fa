"""Where programs run: an environment for each column, in the order of their Tritons, and the workers there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from crosswarp.matrix import versions
from crosswarp.matrix.facts.targets import Target

from . import judging
from .meaning import answers, digests
from .program import Program
from .ran import Cell
from .worker import Lost, Worker

# Private memory of a worker, with torch and Triton imported: 212 to 318 MB on 2.3.1, 3.2.0, 3.6.0 and 3.9.0
# (Private_Dirty of smaps_rollup, 2026-11-23). Mapped libraries are shared.
WORKER_MB = 350


@dataclass(frozen=True)
class Place:
    """An environment.

    Attributes:
        column: its name.
        release: its Triton.
        python: its interpreter.
        expect: versions that must be installed there.
        here: whether it is the user's interpreter.
    """

    column: str
    release: str
    python: Path
    expect: Mapping[str, str] = field(default_factory=dict)
    here: bool = True


@dataclass
class Workers:
    """Workers that start on request, and stay alive up to a limit.

    Attributes:
        targets: that each compiles for.
        time_limit, memory_limit_mb: of one program.
        most: workers at a time, of WORKER_MB each.
    """

    targets: Mapping[str, Target]
    time_limit: float
    memory_limit_mb: int
    most: int = 2
    _interrupted: bool = False
    _open: dict[str, Worker] = field(default_factory=dict)
    _expected: dict[tuple[object, ...], Mapping[str, str]] = field(default_factory=dict)

    def run(
        self,
        place: Place,
        program: Program,
        target: str,
        options: Mapping[str, int] = {},
        quick: bool = False,
    ) -> Cell:
        """Runs `program`; a worker that is lost with it is restarted for the next one.

        Args:
            quick: it is not assembled, so that a cell that passes has no resources. One that does not pass at once
                runs once more, and is assembled.

        Raises:
            EnvironmentFailed: no worker starts there.
            IllDefined: the program is invalid.
        """
        # All that the answers depend on: two programs may have one kernel and other numbers.
        key = (program.kernel, *program.numbers.values(), *program.arguments)
        expected = self._expected.get(key)
        if expected is None:
            expected = digests(answers(program))
            if len(self._expected) > 500:
                self._expected.clear()
            self._expected[key] = expected
        try:
            worker = self.of(place)
            if quick:
                answer = worker.run(program.for_cell(), expected, target, options, quick=True)
                cell = Cell.of(place.column, target, answer, options)
                if (
                    cell.outcome == "unsupported"
                    or cell.outcome == "pass"
                    and not judging.kind(cell)
                ):
                    return cell
            answer = worker.run(program.for_cell(), expected, target, options)
        except Lost as error:
            self.close(place.column)
            return Cell(place.column, target, "not-run", str(error))
        return Cell.of(place.column, target, answer, options)

    def of(self, place: Place) -> Worker:
        """The worker of a place.

        Raises:
            EnvironmentFailed: none begins there.
            Lost: they were interrupted.
        """
        worker = self._open.pop(place.column, None)
        if worker is None:
            while len(self._open) >= self.most:
                # Places alternate: the worker used last is needed again last, so it goes first.
                self._open.popitem()[1].close()
            worker = Worker(
                place.python, self.targets, self.time_limit, self.memory_limit_mb, place.expect, place.here,
            )  # fmt: skip
        self._open[place.column] = worker
        if self._interrupted:
            self.close(place.column)
            raise Lost("interrupted")
        return worker

    def compiles(self, place: Place, target: str, program: Program) -> bool:
        """Whether `program` is one for `target`, and the Triton of `place` compiles for it."""
        return _well_defined(program, self.targets[target]) and target in self.of(place).targets

    def interrupt(self) -> None:
        """Ends all running workers, from another thread; a caller that waits for one gets Lost."""
        self._interrupted = True
        for worker in list(self._open.values()):
            worker.interrupt()

    def close(self, column: str) -> None:
        worker = self._open.pop(column, None)
        if worker is not None:
            worker.close()

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: object) -> None:
        while self._open:
            with suppress(OSError):
                self._open.popitem()[1].close()


def _well_defined(program: Program, target: Target) -> bool:
    """Blocks are launched in clusters from compute capability 9.0 on: before it, `num_ctas` means nothing.

    Compiler behaviour there is not a finding: some refuse it, and Triton 3.4 dies (triton#7811).
    """
    clusters = isinstance(target.arch, int) and target.arch >= 90
    return clusters or program.options.get("num_ctas", 1) == 1


def in_order(places: Sequence[Place]) -> list[Place]:
    """By release."""
    return sorted(places, key=lambda place: versions.sort_key(place.release))
