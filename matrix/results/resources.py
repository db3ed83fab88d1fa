"""The resources of two launches of one kernel, compared: which changes are worse, and which are only shown.

A change is worse when it passes a threshold below. Registers and local memory are judged together, because a compiler
moves values between them. Registers count by how many warps remain resident on that target (`occupancy`). Values that
move from memory into as many registers, or back for more warps, are a trade. Only shown are trades, a small stack that
appears, barriers, and shared memory that grows by much without passing its threshold or no longer fits a smaller GPU.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from crosswarp.matrix.facts import targets
from crosswarp.matrix.facts.targets import Target
from crosswarp.matrix.results.figures import KINDS, Figures, launches, once_a_list
from crosswarp.matrix.results.occupancy import resident_warps
from crosswarp.matrix.results.record import Record


@dataclass(frozen=True)
class Threshold:
    """Reported when the new value is `factor` times the old one, and more than `above`.

    With `falls`, less is worse: reported when the old value was `factor` times the new one, and more than `above`.
    """

    metric: str
    unit: str
    factor: float
    above: int
    # Whether to show a value that was 0 and is now up to `above`.
    appears: bool
    why: str
    falls: bool = False

    def passed_by(self, before: float, after: float) -> bool:
        if self.falls:
            before, after = after, before
        return after > before and after >= before * self.factor and after > self.above


# Between Triton 3.0.0 and 3.1.0, which have the same ptxas, 2 of 2,318 launches changed at all: a stack of 16 bytes
# became one of 32. Between 3.1.0 and 3.2.0 the registers of 591 of 2,290 grew, most of them by less than a quarter.
# Instructions, on sm_80, sm_90 and gfx942: from 3.0.0 to 3.1.0, 4 of 1,006 launches have others (6 accesses to that
# stack became 14); from 3.1.0 to 3.2.0, 754 of 993, and no cell is reported that its stack, registers or shared memory
# would not report as well. From 3.2.0 back to 3.1.0, 3 are: on AMD their accesses are half as wide.
# The same column twice, compiled anew: all of 184 launches have the same figures, and the time to compile more than
# doubled for 151 of them, because others used the machine. So the time on the clock is recorded and drawn and judges
# nothing; CPU seconds are compared in `compile_time`. Nor judges the size of a binary, which AMD has only since Triton
# 3.5, and in which names and line numbers may outweigh the code.
# A stack that appears, between each release and the next from 2.3.1 to 3.9.0 (baseline of 2026-11-22, 9,971 launches on
# sm_80, sm_90 and gfx942): in 66 launches it has up to 32 bytes, which is below the threshold; those are only shown.
THRESHOLDS = (
    Threshold(
        "stack", "bytes", 1.25, 32, True,
        "a frame is traffic to memory in every thread; up to 32 bytes are eight values, which a cache holds",
    ),
    Threshold(
        "spills", "registers", 1.25, 8, True,
        "the same, where the binary counts them (AMD)",
    ),
    Threshold(
        "scratch", "instructions", 1.5, 16, False,
        "that traffic itself, which may move into a loop while the frame stays as it is; up to 16 store and load again "
        "the eight values above",
    ),
    Threshold(
        "registers", "", 1.5, 64, False,
        "allocation moves a little with every release; up to 64 a thread leave room for 1,024 threads on a "
        "multiprocessor of 65,536, beyond that half as many again cost a third of them",
    ),
    Threshold(
        "shared", "bytes", 1.5, 32_768, False,
        "pipelining trades it for speed; beyond 32 KiB two blocks no longer fit the 64 KiB of a CDNA compute unit",
    ),
    Threshold(
        "code", "bytes", 2.0, 32_768, False,
        "unrolling trades it for speed; beyond 32 KiB two kernels no longer fit the 64 KiB of instructions that a CDNA "
        "compute unit caches",
    ),
    Threshold(
        "access", "bytes an access", 2.0, 1, False,
        "every access to global memory costs an issue and a request; masks and layouts narrow a few of them with every "
        "release, lost alignment narrows all by half or more",
        falls=True,
    ),
)  # fmt: skip
_BY_METRIC = {threshold.metric: threshold for threshold in THRESHOLDS}
_CODE = len(THRESHOLDS)
_VALUES = (*_BY_METRIC, "kind", "barriers", "exchanges")
# Memory that belongs to one thread.
_LOCAL = ("stack", "spills", "scratch")
# Bytes a thread: of the stack as it is, of a spilled register four.
_REGISTER_BYTES = 4
# A third of the warps less is worse, half as many again is more room: the factor of the registers, both ways.
_WARPS = 1.5
# Shared memory that grows by this much is shown although it does not pass its threshold. It grew so much in 36 of the
# 9,971 launches above, and 1,024 bytes or more of padding and barriers were added in 184.
SHARED_GROWS = 16_384

# The metrics of a change, the most important first.
METRICS = (
    *_BY_METRIC, "tensor", "barriers", "sectors", "banks", "configs", "time", "predicted-slower",
    "predicted-faster", "processor", "launch", "numbers",
)  # fmt: skip


@dataclass(frozen=True)
class Change:
    """A metric before and after; `what` names the kernel, the launch or the configuration.

    The last field is the reason to show it without judging it; "" for a worse change.
    """

    metric: str
    what: str
    before: float | str
    after: float | str
    unit: str = ""
    remark: str = ""


def grown(before: Record, after: Record) -> tuple[Change, ...]:
    """Returns the changes of its launches' resources, each against the same launch before, worse ones first."""
    if before.resources.get("launches") == after.resources.get("launches"):
        # As most of two runs are.
        return ()
    old, new = _by_launch(before), _by_launch(after)
    target = _targets().get(after.target)
    changes: list[Change] = []
    for launch, now in new.items():
        then = old.get(launch, [])
        # A configuration more or less: they cannot be matched, so the worst stands for all.
        couples = zip(then, now) if len(then) == len(now) else [(_worst(then), _worst(now))]
        for was, is_now in couples:
            if was.values != is_now.values:
                changes += _of_launch(launch, was, is_now, target)
    if not changes:
        return ()
    # A stable sort: worse changes first.
    return tuple(sorted(dict.fromkeys(changes), key=lambda change: bool(change.remark)))


class _Launch(NamedTuple):
    figures: Figures
    # Those with a threshold, in that order, then the kind, the barriers and the exchanges.
    values: tuple[Any, ...]


def _launch(figures: Figures) -> _Launch:
    return _Launch(figures, tuple(map(figures.get, _VALUES)))


@once_a_list
def _by_launch(record: Record) -> Mapping[tuple[str, int], list[_Launch]]:
    """The launches of each kernel and number of warps, by name."""
    return {key: list(map(_launch, each)) for key, each in sorted(launches(record).items())}


def _of_launch(
    launch: tuple[str, int], was: _Launch, now: _Launch, target: Target | None
) -> list[Change]:
    kernel, warps = launch
    what = f"{kernel}, {warps} warps"
    changes = []
    for threshold, a, b in zip(THRESHOLDS, was.values, now.values, strict=False):
        if a == b or a is None or b is None:
            continue
        name, remark = threshold.metric, ""
        if threshold.passed_by(a, b):
            traded = name == "registers" or name in _LOCAL
            remark = _trade(warps, was.figures, now.figures, target) if traded else ""
        elif threshold.appears and a == 0 < b:
            remark = f"up to {threshold.above} {threshold.unit} are nothing by themselves"
        elif name == "shared":
            remark = _of_shared(a, b, target)
            if not remark:
                continue
        else:
            continue
        changes.append(Change(name, what, a, b, threshold.unit, remark))
    if was.values[_CODE:] != now.values[_CODE:]:
        changes += _of_code(what, was.figures, now.figures)
    return changes


def _of_code(what: str, was: Figures, now: Figures) -> Iterator[Change]:
    a, b = was.get("kind"), now.get("kind")
    if a is not None and b is not None and KINDS[b] < KINDS[a]:
        yield Change("tensor", what, a, b)
    a, b = was.get("barriers"), now.get("barriers")
    same = was.get("exchanges") == now.get("exchanges") is not None
    if a is not None and b is not None and a != b and same:
        # Most barriers come and go with the exchanges that they guard: from 2.3.1 to 3.0.0 (2026-11-22) 55 of 387
        # launches have others, and 4 of those have as many exchanges as before.
        how = "fewer may be a race" if b < a else "more may be the fix of one"
        yield Change(
            "barriers", what, a, b, "",
            f"with as many accesses to shared memory as before: {how}, and neither is seen by compiling",
        )  # fmt: skip


def _passes(metric: str, was: Figures, now: Figures) -> bool:
    a, b = was.get(metric), now.get(metric)
    return a is not None and b is not None and _BY_METRIC[metric].passed_by(a, b)


def _trade(warps: int, was: Figures, now: Figures, target: Target | None) -> str:
    """Why a change beyond a threshold of registers or local memory is shown and not judged; "" where it is worse.

    A register holds four bytes. Registers for memory: at least as many bytes have left it as the registers took.
    Memory for registers: no more bytes have come than registers were given up, and half as many warps again fit.
    """
    a, b = was.get("registers"), now.get("registers")
    local = any(_passes(name, was, now) for name in _LOCAL)
    registers = _passes("registers", was, now)
    if a is None or b is None or local == registers:
        return ""
    had, has = (_warps(target, side, warps) for side in (was, now))
    came = _local_bytes(now) - _local_bytes(was)
    if registers:
        if had is not None and has is not None and has * _WARPS > had:
            return f"{has} warps are resident where {had} were"
        if -came >= (b - a) * _REGISTER_BYTES:
            return f"a trade: {-came:g} bytes a thread left memory{_resident(had, has)}"
        return ""
    if had and has and has >= had * _WARPS and 0 < came <= (a - b) * _REGISTER_BYTES:
        return f"a trade: {a - b} registers a thread were given up{_resident(had, has)}"
    return ""


def _local_bytes(figures: Figures) -> float:
    return max(figures.get("stack") or 0, _REGISTER_BYTES * (figures.get("spills") or 0))


def _warps(target: Target | None, figures: Figures, warps: int) -> int | None:
    if target is None or "registers" not in figures:
        return None
    return resident_warps(target, figures["registers"], figures.get("shared") or 0, warps)


def _resident(had: int | None, has: int | None) -> str:
    return "" if had is None or has is None else f", {has} warps are resident where {had} were"


def _of_shared(before: float, after: float, target: Target | None) -> str:
    """Why shared memory that grew without passing its threshold is shown, or ""."""
    if after <= before:
        return ""
    if target is not None:
        lost: dict[int, list[str]] = {}
        for name, other in _targets().items():
            limit = other.shared_memory_optin
            if other.backend == target.backend and before <= limit < after:
                lost.setdefault(limit, []).append(name)
        if lost:
            limits = (f"{limit:,} of {', '.join(names)}" for limit, names in sorted(lost.items()))
            return f"no longer within the {' and the '.join(limits)}"
    return f"{after - before:,g} bytes more" if after - before >= SHARED_GROWS else ""


def _worst(launches: Sequence[_Launch]) -> _Launch:
    worst: Figures = {}
    figures = [launch.figures for launch in launches]
    for threshold in THRESHOLDS:
        values = [launch[threshold.metric] for launch in figures if threshold.metric in launch]
        if values:
            worst[threshold.metric] = min(values) if threshold.falls else max(values)
    kinds = [launch["kind"] for launch in figures if "kind" in launch]
    if kinds:
        worst["kind"] = min(kinds, key=KINDS.__getitem__)
    return _launch(worst)


@functools.cache
def _targets() -> Mapping[str, Target]:
    """The targets by name. A target from a run's own table has no limits here, and is judged by its figures alone."""
    return targets.load()
