"""The plan: which kind of work, on which columns, targets, lanes, modes and kernels, before anything is built.

The engine knows no kind of work by name: `Work` is all that it asks of one, and `matrix/work/` has them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Protocol

from crosswarp.matrix.cell.asked import Asked
from crosswarp.matrix.environments.environment import Environment
from crosswarp.matrix.errors import UsageError
from crosswarp.matrix.facts import selection
from crosswarp.matrix.facts.columns import Column
from crosswarp.matrix.facts.issues import Issue
from crosswarp.matrix.facts.targets import Target
from crosswarp.matrix.results import owned
from crosswarp.matrix.results.record import LANES, MODES, Record

# Without a GPU nothing is executed in the device lane, so a plan holds it only where one was found.
DEFAULT_LANES = ("compile", "emulate", "interpret")
# In a run that names no lanes, the lane emulate covers this target if it is there; else the first of NVIDIA's.
_EMULATED_FIRST = ("sm_80",)


class Coordinate(NamedTuple):
    """The cells that have a key in common: all cases of a kernel in a lane and a mode on a target."""

    target: str
    lane: str
    mode: str
    kernel: str

    @classmethod
    def of(cls, cell: Record) -> Coordinate:
        return cls(cell.target, cell.lane, cell.mode, cell.kernel)


class Judged(Protocol):
    """The verdict on a run's records."""

    @property
    def as_expected(self) -> bool: ...


@dataclass(frozen=True)
class Work:
    """One kind of work that a run does.

    A kind names the module that runs in the column. The other defaults fit a kind whose cells are known only there,
    and whose failures are judged by the known issues.
    """

    # Run as `python -m MODULE SPEC.json`; its cells come as a stream of matrix/cell/protocol.py.
    MODULE: ClassVar[str]
    # Whether a lane begins once for each target and mode, and not once as a whole.
    BY_PART: ClassVar[bool] = False
    # The next step where every case was unsupported.
    NOTHING_RAN: ClassVar[str] = (
        "No case ran: the chosen kernels have none for these lanes. Choose others."
    )

    def argv(self, python: Path, spec: Path) -> list[str]:
        """The command line of the process that runs it in a column."""
        return [str(python), "-m", self.MODULE, str(spec)]

    def asked(self, column: str, common: Mapping[str, Any]) -> Asked:
        """The request to that process: a class of matrix/cell/asked.py, with `common` as the fields of `Asked`."""
        return Asked(**common)

    def about(self) -> Mapping[str, Any]:
        """The fields that the store keeps of it."""
        return {}

    def holds(self, kernel: str, lane: str, target: str, case: str) -> bool:
        """Whether it has this case there, of those that its kernels have."""
        return True

    def kernels(self) -> Sequence[str]:
        """The names of its kernels, as far as they are known before a column names them."""
        return ()

    def keys(
        self, plan: Plan, column: str, environment: Environment
    ) -> Mapping[Coordinate, str]:  # fmt: skip
        """A digest of all that decides on the cells of each coordinate; empty where it is unknown."""
        return {}

    def judge(self, records: Sequence[Record], issues: Sequence[Issue]) -> Judged:
        """Whether the cells are as they were expected."""
        return owned.judge(records, issues, self.about())


@dataclass(frozen=True)
class Plan:
    # The kind of work, and its settings.
    work: Work
    columns: tuple[Column, ...]
    targets: Mapping[str, Target]
    lanes: tuple[str, ...] = DEFAULT_LANES
    # The targets that the lane emulate covers; None: all of them.
    emulated: tuple[str, ...] | None = None
    # Whether the sanitizer looks on in the lane emulate.
    sanitize: bool = False
    # How many programs of each launch the lane emulate executes, with no look at the numbers; None: all.
    sample: int | None = None
    # Whether the lane emulate estimates how long each launch takes; a sample is for nothing else.
    estimate: bool = False
    # Whether that lane computes a row alone and in a batch as well.
    batch: bool = False
    # The numbers of warps with which that lane launches each case again.
    warps: tuple[int, ...] = ()
    modes: tuple[str, ...] = MODES
    kernels: tuple[str, ...] = ("*",)
    # Globs of the cases of these kernels.
    cases: tuple[str, ...] = ("*",)
    jobs: int = 1
    # Seconds for one configuration of a case, megabytes for the process that compiles it, seconds for a whole column.
    time_limit: int = 120
    # Seconds for an item that timed out, when it runs again with nothing beside it; 0: it does not.
    time_limit_alone: int = 0
    memory_limit_mb: int = 6000
    column_limit: int = 3600
    # Whether to delete the compiled results of earlier runs first.
    fresh: bool = False
    # Which results of an earlier run to reuse where nothing changed: "nothing", "verdicts", or "everything", crashes
    # as well.
    take: str = "nothing"
    # Which shard of each column's cases, and of how many; None: all of them.
    shard: tuple[int, int] | None = None
    # The suite's commit; empty where git reports none.
    commit: str = ""

    def spec(
        self,
        column: str,
        expect: Mapping[str, str],
        records: Path,
        cache: Path,
        reused: Sequence[str] = (),
        again: Mapping[str, Sequence[str]] | None = None,
        planned: Mapping[str, int] | None = None,
        turns: Path | None = None,
    ) -> Asked:
        """The request to the process of a column.

        Args:
            reused: items that need not run.
            again: by lane, the items that run, where it is known that no others are left.
            planned: for these lanes, the number of their cases, with the reused ones.
            turns: the folder where columns that run side by side take turns.
        """
        common = Asked(
            column=column,
            expect=dict(expect),
            records=str(records),
            cache=str(cache),
            targets={name: asdict(target) for name, target in self.targets.items()},
            lanes=[lane for lane in self.lanes if not again or lane in again],
            modes=list(self.modes),
            kernels=list(self.kernels),
            cases=list(self.cases),
            emulated=None if self.emulated is None else list(self.emulated),
            sanitize=self.sanitize,
            sample=self.sample,
            estimate=self.estimate,
            batch=self.batch,
            warps=list(self.warps),
            shard=list(self.shard) if self.shard else None,
            jobs=self.jobs,
            turns=str(turns or records),
            time_limit=self.time_limit,
            time_limit_alone=self.time_limit_alone,
            memory_limit_mb=self.memory_limit_mb,
            reused=list(reused),
            again=dict(again) if again else None,
            planned=dict(planned or {}) if again else {},
        )
        return self.work.asked(column, vars(common))

    def has(self, cell: Record) -> bool:
        """Whether it has the case of this cell, of those of its kernel there."""
        return any(fnmatchcase(cell.case, glob) for glob in self.cases) and self.work.holds(
            cell.kernel, cell.lane, cell.target, cell.case
        )

    def parts(self, lane: str) -> list[str]:
        """The parts in which a lane begins: the whole, or each target and mode."""
        if not self.work.BY_PART:
            return [""]
        return [f"{target}/{mode}" for target in self.targets_of(lane) for mode in self.modes]

    def describe(self) -> dict[str, Any]:
        """The fields that the store keeps of it."""
        return {
            "columns": [column.id for column in self.columns],
            "targets": list(self.targets),
            "lanes": list(self.lanes),
            "modes": list(self.modes),
            "kernels": list(self.kernels),
            "suite": None,
            **({} if self.cases == ("*",) else {"cases": list(self.cases)}),
            **({"shard": list(self.shard)} if self.shard else {}),
            **({} if self.emulated is None else {"emulated": list(self.emulated)}),
            **({"sanitize": True} if self.sanitize else {}),
            **({"sample": self.sample} if self.sample else {}),
            **({"estimate": True} if self.estimate else {}),
            **({"batch": True} if self.batch else {}),
            **({"warps": list(self.warps)} if self.warps else {}),
            **({"commit": self.commit} if self.commit else {}),
            **self.work.about(),
        }

    def not_run(self, column: str, reason: str, message: str) -> list[Record]:
        """One record for each kernel that a column was to run and did not; its cases are known only inside a cell."""
        kernels = [
            name
            for name in self.work.kernels()
            if any(fnmatchcase(name, glob) for glob in self.kernels)
        ]
        return [
            Record(
                column, target, lane, mode, kernel, case="*",
                outcome="not-run", reason=reason, message=message, phase="environment",
            )
            for lane in self.lanes
            for target in self.targets_of(lane)
            for mode in self.modes
            for kernel in kernels or ["*"]
        ]  # fmt: skip

    def targets_of(self, lane: str) -> Sequence[str]:
        if lane == "emulate" and self.emulated is not None:
            return self.emulated
        return {"interpret": ["cpu"], "device": ["gpu"]}.get(lane) or list(self.targets)


def check_shard(text: str | None) -> tuple[int, int] | None:
    """`2/5` as a pair; the whole is no shard."""
    if text is None:
        return None
    match = re.fullmatch(r"([0-9]{1,4})/([0-9]{1,4})", text)
    number, of = (int(match[1]), int(match[2])) if match else (0, 0)
    if not 1 <= number <= of:
        raise UsageError(f'--shard "{text}": write 2/5 for the second of five.')
    return (number, of) if of > 1 else None


def check_words(wanted: Sequence[str], words: Sequence[str], what: str) -> tuple[str, ...]:
    return tuple(selection.choose(wanted, words, what, f"There are: {', '.join(words)}."))


def default_lanes(targets: Mapping[str, Target]) -> tuple[tuple[str, ...], tuple[str, ...] | None]:
    """The lanes of a run that names none, and which targets the lane emulate covers then.

    One NVIDIA target is enough to see wrong numbers that the compiler makes on the way to PTX, which is the same way
    for all of a generation; each more would cost as much again.
    """
    nvidia = [name for name, target in targets.items() if target.backend == "cuda"]
    if not nvidia:
        return tuple(lane for lane in DEFAULT_LANES if lane != "emulate"), None
    return DEFAULT_LANES, (next((name for name in _EMULATED_FIRST if name in nvidia), nvidia[0]),)


def check_lanes(wanted: Sequence[str]) -> tuple[str, ...]:
    return check_words(wanted, LANES, "lane")


def default_jobs() -> int:
    return max(1, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1)
