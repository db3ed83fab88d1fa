"""CPU seconds of a compilation, compared: which kernel takes longer to compile, how much longer, in which stage.

CPU seconds are those of the process and of the children that it waited for, such as ptxas. They do not include other
work on the same cores, but that shares caches, clocks and the two threads of a core. So the time of work that is
always alike is kept beside them (`pace_ms`), and they are compared as on a machine on which that takes `_USUAL_PACE`.
Wall time is not judged.

A pace is measured at the ends of a stage, for two milliseconds each. That says enough of a short stage. A long one
has other neighbours in between, so the longer a compilation is, the more the median of its run counts.
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from crosswarp.matrix.results.figures import Figures, is_size, launches, once_a_list
from crosswarp.matrix.results.record import Record
from crosswarp.matrix.results.resources import Change

METRIC = "processor"
# Triton's work before its first stage: reading the kernel, and building its IR.
FRONT_END = "front end"

# The same release twice, the second time beside other work, differed by 1.67 times at most, and on 3.9.0 by 1.27
# where it took more than a second (22 kernels, 3.1.0 and 3.9.0, 2026-11-26; docs/changed.md has the command).
FACTOR = 2.0
# Milliseconds of the constant work, on the idle machines of 2026.
_USUAL_PACE = 2.0
# Seconds of a compilation from which on the run's pace counts more than the compilation's own. 46 compilations twice
# on 64 busy cores differed by 8 % (root mean square), and by 16 % where only the own pace counts (2026-11-27).
_LONG = 1.0
# Below that, the factor is that of a small number, and the wait is too short to matter.
MORE_SECONDS = 1.0
# From this many compilations on, their median compares the speeds of two machines.
ENOUGH = 30
# The most that a machine may count as slower: else a release that is slower everywhere would be blamed on the machine.
SLOWEST = 2.0


@dataclass(frozen=True)
class Machines:
    """The machines of two sides.

    Attributes:
        before, after: the usual pace of each, in milliseconds; None where it is not known.
        slower: how many times as long a typical compilation takes on the second, between 1 and `SLOWEST`.
    """

    before: float | None = None
    after: float | None = None
    slower: float = 1.0


ALIKE = Machines()


def seconds(
    before: Record, after: Record, machines: Machines
) -> dict[str, tuple[Figures, Figures]]:
    """By kernel, the CPU seconds of launches that both sides compiled anew: `processor` in all, `stages` by stage."""
    old, new = launches(before), launches(after)
    couples_by_kernel: dict[str, list[tuple[Figures, Figures]]] = defaultdict(list)
    for (kernel, warps), now in new.items():
        then = old.get((kernel, warps), [])
        if len(then) != len(now):
            # A configuration more or less: the typical one stands for each.
            then, now = [_typical(then)], [_typical(now)]
        couples_by_kernel[kernel] += [
            _at_one_pace(a, b, machines)
            for a, b in zip(then, now, strict=True)
            if METRIC in a and METRIC in b
        ]
    return {
        kernel: (_sum(a for a, _ in couples), _sum(b for _, b in couples))
        for kernel, couples in couples_by_kernel.items()
        if couples
    }


def pace(before: Mapping[Any, float], after: Mapping[Any, float]) -> float:
    """How many times the CPU seconds of `before` a typical compilation of `after` takes, between 1 and `SLOWEST`.

    Both are the `total` of cells, above 0. 1 where fewer than `ENOUGH` were compiled on both sides.
    """
    ratios = [after[cell] / seconds for cell, seconds in before.items() if cell in after]
    if len(ratios) < ENOUGH:
        return 1.0
    return min(max(statistics.median(ratios), 1.0), SLOWEST)


def usual_pace(records: Iterable[Record]) -> float | None:
    """The median pace of all that was compiled anew, in milliseconds; None where none is known."""
    paces = [pace for record in records for pace in _paces(record)]
    return statistics.median(paces) if paces else None


def slower(before: Record, after: Record, machines: Machines = ALIKE) -> tuple[Change, ...]:
    """A change for each kernel that takes `FACTOR` times as long to compile, and `MORE_SECONDS` longer."""
    # By the run's pace it may be up to twice as much.
    if not _timed(after) or (total(after) or MORE_SECONDS) < MORE_SECONDS / 2:
        # As of most: nothing has to be read more closely.
        return ()
    changes = []
    for kernel, (was, now) in sorted(seconds(before, after, machines).items()):
        a, b = was[METRIC], now[METRIC]
        expected = machines.slower * a
        if b >= FACTOR * expected and b - expected >= MORE_SECONDS:
            changes.append(Change(METRIC, kernel, a, b, "s", _where(was, now)))
    return tuple(changes)


def ratio(change: Change) -> float:
    """How many times as long it takes; infinite where it took nothing that could be measured."""
    assert isinstance(change.before, (int, float)) and isinstance(change.after, (int, float))
    return change.after / change.before if change.before else float("inf")


def total(record: Record) -> float | None:
    """CPU seconds of all that the cell launched; None where some of it was not compiled anew."""
    return _seconds(record) if record.outcome == "pass" else None


@once_a_list
def _timed(record: Record) -> bool:
    """Whether any launch was compiled anew."""
    noted = record.resources.get("launches")
    return isinstance(noted, list) and any(
        isinstance(launch, Mapping) and "processor_seconds" in launch for launch in noted
    )


@once_a_list
def _paces(record: Record) -> list[float]:
    # Without `launches`, which reads all figures of a record: most cells need no more than this.
    noted = record.resources.get("launches")
    paces = [
        launch.get("pace_ms")
        for launch in (noted if isinstance(noted, list) else [])
        if isinstance(launch, Mapping) and is_size(launch.get("processor_seconds"))
    ]
    return [pace for pace in paces if is_size(pace) and pace]


@once_a_list
def _seconds(record: Record) -> float | None:
    noted = record.resources.get("launches")
    if not isinstance(noted, list) or not noted:
        return None
    total = 0.0
    for launch in noted:
        value = launch.get("processor_seconds") if isinstance(launch, Mapping) else None
        if not isinstance(value, (int, float)) or not is_size(value):
            return None
        pace = launch.get("pace_ms")
        total += value * _USUAL_PACE / pace if is_size(pace) and pace else value
    return total


def _where(was: Figures, now: Figures) -> str:
    """The stage that took the largest part of the increase; empty where stages were not timed on both sides."""
    then, stages = was.get("stages"), now.get("stages")
    if not then or not stages:
        return ""
    more = {name: value - then.get(name, 0.0) for name, value in stages.items()}
    name = max(more, key=more.__getitem__)
    return (
        f"stage {name}: {then.get(name, 0.0):.3g} → {stages[name]:.3g} s" if more[name] > 0 else ""
    )


def _typical(figures: list[Figures]) -> Figures:
    timed = sorted(
        (launch for launch in figures if METRIC in launch), key=lambda launch: launch[METRIC]
    )
    return timed[len(timed) // 2] if timed else {}


def _at_one_pace(before: Figures, after: Figures, machines: Machines) -> tuple[Figures, Figures]:
    """Both as on one machine; as they are where the pace of one is not known."""
    if "pace" not in before or "pace" not in after:
        return before, after
    return _at_usual_pace(before, machines.before), _at_usual_pace(after, machines.after)


def _at_usual_pace(figures: Figures, of_the_run: float | None) -> Figures:
    pace, long = figures["pace"], figures[METRIC] / _LONG
    if of_the_run is not None:
        pace = (pace + long * of_the_run) / (1 + long)
    factor = _USUAL_PACE / pace
    stages = {name: factor * value for name, value in figures.get("stages", {}).items()}
    return {**figures, METRIC: factor * figures[METRIC], **({"stages": stages} if stages else {})}


def _sum(figures: Iterable[Figures]) -> Figures:
    total, timed = 0.0, True
    stages: dict[str, float] = defaultdict(float)
    for launch in figures:
        total += launch[METRIC]
        mine = launch.get("stages")
        timed = timed and bool(mine)
        for name, value in _with_front_end(launch[METRIC], mine or {}).items():
            stages[name] += value
    return {METRIC: round(total, 3), "stages": dict(stages) if timed else {}}


def _with_front_end(total: float, stages: Mapping[str, float]) -> dict[str, float]:
    return {FRONT_END: max(total - sum(stages.values()), 0.0), **stages}
