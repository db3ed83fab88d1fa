"""The plan: which columns, targets, lanes, modes and kernels one run covers, decided before anything is built."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from crosswarp.matrix.cell.kinds.suite import modules
from crosswarp.matrix.errors import UsageError
from crosswarp.matrix.facts import selection
from crosswarp.matrix.facts.columns import Column
from crosswarp.matrix.facts.targets import Target
from crosswarp.matrix.results.record import LANES, MODES, Record
from crosswarp.matrix.running.library_tests import LibraryTests

# Without a GPU nothing is executed in the device lane, so a plan holds it only where one was found.
DEFAULT_LANES = ("compile", "emulate", "interpret")
# Of the targets of a run that names no lanes, the one that the lane emulate covers; else the first of NVIDIA's.
_EMULATED_FIRST = ("sm_80",)

_WORTH_A_WORKER = 12


@dataclass(frozen=True)
class Plan:
    columns: tuple[Column, ...]
    targets: Mapping[str, Target]
    lanes: tuple[str, ...] = DEFAULT_LANES
    # The targets that the lane emulate covers; None: all of them.
    emulated: tuple[str, ...] | None = None
    # Whether the sanitizer looks on in the lane emulate.
    sanitize: bool = False
    modes: tuple[str, ...] = MODES
    kernels: tuple[str, ...] = ("*",)
    # Globs of the cases of these kernels.
    cases: tuple[str, ...] = ("*",)
    jobs: int = 1
    # Seconds for one configuration of a case, megabytes for the process that compiles it, seconds for a whole column.
    time_limit: int = 120
    # Seconds for what took longer, when it runs again with nothing beside it; 0: it does not.
    time_limit_alone: int = 0
    memory_limit_mb: int = 6000
    column_limit: int = 3600
    suite: Path | None = None
    # By column, folders that come before its own packages on the suite's path; filled as columns are prepared.
    beside: Mapping[str, Sequence[Path]] = field(default_factory=dict)
    # Whether what an earlier run compiled is forgotten first.
    fresh: bool = False
    # What is taken from an earlier run where nothing changed: "nothing", "verdicts", or "everything", crashes as well.
    take: str = "nothing"
    # Which share of each column's cases, and of how many; None: all of them.
    shard: tuple[int, int] | None = None
    # The commit that the suite is of, as far as git tells.
    commit: str = ""
    # What a suite of library ops is told (libraries.settings), and what the store keeps of it.
    libraries: Mapping[str, Any] | None = None
    # A library's own tests, in place of a suite.
    tests: LibraryTests | None = None
    # A file whose kernels are compiled, in place of a suite: what the cell side is told of it (cell/kinds/check).
    check: Mapping[str, Any] | None = None
    # Programs of which torch.compile is to write the kernels, in place of a suite (cell/kinds/inductor).
    inductor: Mapping[str, Any] | None = None
    about: Mapping[str, Any] = field(default_factory=dict)

    def spec(
        self,
        column: str,
        expect: Mapping[str, str],
        records: Path,
        cache: Path,
        taken: Sequence[str] = (),
        again: Mapping[str, Sequence[str]] | None = None,
        planned: Mapping[str, int] | None = None,
        turns: Path | None = None,
    ) -> dict[str, Any]:
        """What the cell side is told, see suite/.

        Args:
            taken: items that need not run.
            again: by lane, the items that run, where it is known that no others are left.
            planned: for these lanes, how many cases they have with those that are taken.
            turns: where columns that run side by side take turns.
        """
        return {
            "column": column,
            "taken": list(taken),
            "turns": str(turns or records),
            "cores": self.jobs,
            "expect": dict(expect),
            "records": str(records),
            "lanes": [lane for lane in self.lanes if not again or lane in again],
            "modes": list(self.modes),
            "targets": {
                name: target.model_dump(mode="json") for name, target in self.targets.items()
            },
            "kernels": list(self.kernels),
            "cases": list(self.cases),
            "jobs": self._jobs_for(sum(map(len, again.values()))) if again else self.jobs,
            "time_limit": self.time_limit,
            "time_limit_alone": self.time_limit_alone,
            "memory_limit_mb": self.memory_limit_mb,
            "cache": str(cache),
            "suite": str(self.suite) if self.suite else None,
            "shard": list(self.shard) if self.shard else None,
            "emulated": None if self.emulated is None else list(self.emulated),
            "sanitize": self.sanitize,
            **({"again": dict(again), "planned": dict(planned or {})} if again else {}),
            **(self.libraries or {}),
            **({"beside": list(map(str, self.beside[column]))} if column in self.beside else {}),
            **({"tests": self.tests.spec(column)} if self.tests else {}),
            **({"check": self.check} if self.check else {}),
            **({"inductor": self.inductor} if self.inductor else {}),
        }

    def _jobs_for(self, items: int) -> int:
        """Workers for so few items: each imports torch first, which takes as long as to run some of them."""
        return max(1, min(self.jobs, items // _WORTH_A_WORKER))

    def parts(self, lane: str) -> list[str]:
        """What a lane begins in: the whole, or, of a library's tests and of inductor, each target and mode."""
        if self.tests is None and self.inductor is None:
            return [""]
        return [f"{target}/{mode}" for target in self.targets_of(lane) for mode in self.modes]

    def describe(self) -> dict[str, Any]:
        """What the store keeps of it."""
        return {
            "columns": [column.id for column in self.columns],
            "targets": list(self.targets),
            "lanes": list(self.lanes),
            "modes": list(self.modes),
            "kernels": list(self.kernels),
            "suite": str(self.suite) if self.suite else None,
            **({} if self.cases == ("*",) else {"cases": list(self.cases)}),
            **({"shard": list(self.shard)} if self.shard else {}),
            **({} if self.emulated is None else {"emulated": list(self.emulated)}),
            **({"sanitize": True} if self.sanitize else {}),
            **({"commit": self.commit} if self.commit else {}),
            **({"library": self.tests.about()} if self.tests else {}),
            **({"check": str(self.check["file"])} if self.check else {}),
            **(
                {"inductor": self.inductor.get("file") or self.inductor["programs"]}
                if self.inductor
                else {}
            ),
            **self.about,
        }

    def not_run(self, column: str, reason: str, message: str) -> list[Record]:
        """One record for each kernel that a column was to run and did not; its cases are known only inside a cell."""
        kernels = (
            list(self.check["kernels"])
            if self.check
            else [
                name
                # Which tests a library has, and which programs a torch, is known where they are.
                for name in ([] if self.tests or self.inductor else kernel_names(self.suite))
                if any(fnmatchcase(name, glob) for glob in self.kernels)
            ]
        )
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


def kernel_names(suite: Path | None = None) -> list[str]:
    """The kernels by file name: importing one needs Triton, which the host has not."""
    if suite is None:
        from crosswarp import kernels

        return list(kernels.NAMES)
    return modules.kernels(modules.look(suite))


def check_kernels(wanted: Sequence[str], suite: Path | None) -> tuple[str, ...]:
    """The kernels that were asked for; all of them are `*`.

    Raises:
        UsageError: there is none, or a file of the suite that was asked for as well cannot be read.
    """
    if suite is None:
        names, wrong = kernel_names(), {}
    else:
        found = _looked(suite)
        wrong = {one.name: one for one in found if one.kind in ("broken", "misspelt")}
        names = [one.name for one in found if one.kind == "kernel" or one.name in wrong]
    if not names:
        where = suite or "crosswarp.kernels"
        raise UsageError(
            f"{where} holds no kernel (a file that sets KERNEL). Name another with --suite."
        )
    chosen = selection.choose(wanted, names, "kernel", f"There are: {', '.join(names)}.")
    # A run without them would be green, and say nothing of them.
    unread = [f"{one.place}: {one.why}" for name, one in wrong.items() if name in chosen]
    if unread:
        lines = "\n".join(unread)
        raise UsageError(
            f"--suite {suite}: {len(unread)} of its files cannot be taken for kernels:\n{lines}\n"
            "Correct them, or choose others with --kernels."
        )
    return ("*",) if chosen == names else tuple(chosen)


def _looked(suite: Path) -> list[modules.Module]:
    try:
        if not suite.is_dir():
            raise UsageError(
                f"--suite {suite}: there is no such folder. Name a folder of kernel modules."
            )
        return modules.look(suite)
    except OSError as error:
        raise UsageError(
            f"--suite {suite}: {error.strerror or error}. Name a folder that can be read."
        ) from None


def left_out(suite: Path | None) -> str:
    """The files of a suite's folder that are no kernels, each with why; empty where there is none."""
    if suite is None:
        return ""
    parts = [
        f"{one.path.name} ({one.why})"
        for one in _looked(suite)
        if one.kind in ("helper", "misspelt", "broken")
    ]
    parts += [f"{name} (a folder)" for name in modules.folders(suite)]
    return f"{suite}: not run as kernels: {', '.join(parts)}." if parts else ""


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
