"""Compares two estimates of one case: how many times as long it is predicted to take on its GPU, and why.

The estimates were made in the cell (crosswarp/matrix/cell/estimate has the model and the source of each constant). For
a launch they have the time of a warp alone, of the units and DRAM for a block, and the number of blocks that share a
multiprocessor. The sum of these is not shown: the time on a GPU differs from it by a factor, and the ratio of two of
them is right much more often. tests/proofs/performance_against_device.py compares with measured times;
docs/predicted.md has the table.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from crosswarp.matrix.results import traffic
from crosswarp.matrix.results.figures import is_count, is_size
from crosswarp.matrix.results.record import Record
from crosswarp.matrix.results.resources import Change

SLOWER, FASTER = "predicted-slower", "predicted-faster"
# Chosen from pairs that were timed on an H100: docs/predicted.md has the table.
FACTOR = 1.05
MOST_CAUSES = 3
# Overhead in seconds of the events around a launch, and of a launch behind another one. Measured with the smallest
# cases on an H100.
_AROUND, _EACH = 3.4e-6, 1.5e-6
# Up to so many waves the last one counts as a whole.
_FEW_WAVES = 8
# The least part of the difference that a cause has to make up.
_LEAST_CAUSE = 0.1
# Larger figures a cell made up.
_MOST = 1e15
_UNITS = {
    "issue": "instructions issued", "fma": "FP32 and integer multiply-adds", "int": "integers and comparisons",
    "half": "FP16", "mufu": "special functions", "conv": "conversions", "fp64": "FP64", "mma": "tensor cores",
    "wgmma": "tensor cores", "lsu": "loads and stores", "l2": "L2",
}  # fmt: skip

_Estimate = Mapping[str, Any]


class Prediction(NamedTuple):
    """`ratio`: how many times as long it takes. `causes`: of the launch that makes up most of it, the largest first."""

    ratio: float
    before: int
    after: int
    kernel: str
    causes: tuple[str, ...]

    def change(self) -> Change | None:
        """The change to report; None where the ratio is within `FACTOR`."""
        if 1 / FACTOR < self.ratio < FACTOR:
            return None
        metric = SLOWER if self.ratio > 1 else FASTER
        return Change(
            metric, self.kernel, self.before, self.after, "cycles", "; ".join(self.causes)
        )


class _Launch(NamedTuple):
    counted: Mapping[str, Any]
    estimate: _Estimate
    times: int

    @property
    def cycles(self) -> float:
        """Seconds of the whole launch, without the overhead of host and driver."""
        return _wave(self.estimate) * _waves(self.estimate)

    @property
    def overhead(self) -> float:
        return _EACH * self.estimate["ghz"] * 1e9


def prediction(before: Record, after: Record) -> Prediction | None:
    """None where one of them was not estimated, or some of its launches were not."""
    if not (before.resources.get("counters") and after.resources.get("counters")):
        return None
    old, new = _launches(before), _launches(after)
    if not old or not new:
        return None
    a, b = _total(old), _total(new)
    couples = [(old[key], new[key]) for key in new if key in old]
    if not couples or 1 / FACTOR < b / a < FACTOR:
        return Prediction(b / a, round(a), round(b), "", ())
    was, now = max(couples, key=lambda couple: _moved(couple[0], couple[1], b > a))
    kernel = f"{now.counted.get('kernel', '')}, {now.counted.get('num_warps')} warps"
    return Prediction(b / a, round(a), round(b), kernel, tuple(_causes(was, now, b > a)))


def _moved(was: _Launch, now: _Launch, slower: bool) -> float:
    difference = now.cycles * now.times - was.cycles * was.times
    return difference if slower else -difference


def _total(launches: Mapping[Any, _Launch]) -> float:
    each = sum((launch.cycles + launch.overhead) * launch.times for launch in launches.values())
    return each + _AROUND * max(launch.estimate["ghz"] for launch in launches.values()) * 1e9


def _parts(estimate: _Estimate) -> tuple[float, float, float]:
    """Cycles of one warp, of the busiest unit and of DRAM, for all blocks that share a multiprocessor."""
    together = estimate["together"]
    return (
        estimate["path"],
        together * max(estimate["units"].values(), default=0.0),
        together * (estimate["dram"] + estimate["spilled"]),
    )


def _wave(estimate: _Estimate) -> float:
    # It waits for them partly one behind the other, and partly at the same time.
    return math.hypot(*_parts(estimate))


def _waves(estimate: _Estimate) -> float:
    waves = estimate["waves"]
    return math.ceil(waves - 1e-9) if waves < _FEW_WAVES else waves


class _Cause(NamedTuple):
    """`cycles`: of the whole launch, how much more it takes for that."""

    cycles: float
    text: str


def _causes(was: _Launch, now: _Launch, slower: bool) -> Iterator[str]:
    """The largest differences in the direction of the whole."""
    sign = 1 if slower else -1
    whole = sign * (now.cycles - was.cycles)
    if whole <= 0:
        return
    causes = sorted(_all_causes(was, now), key=lambda cause: sign * cause.cycles, reverse=True)
    largest = [
        cause for cause in causes[:MOST_CAUSES] if sign * cause.cycles >= _LEAST_CAUSE * whole
    ]
    yield from (cause.text for cause in largest)
    for text in (_memory(was, now), _spills(was.estimate, now.estimate)):
        if text and largest:
            yield text
    if now.estimate.get("guessed"):
        yield f"guessed for this target: {now.estimate['guessed']}"


def _all_causes(was: _Launch, now: _Launch) -> Iterator[_Cause]:
    a, b = was.estimate, now.estimate
    wave = (_wave(a) + _wave(b)) / 2 or 1.0
    waves = (_waves(a) + _waves(b)) / 2
    # By how much a wave grows with each of its parts.
    path, units, dram = (
        (old + new) / 2 / wave * waves for old, new in zip(_parts(a), _parts(b), strict=True)
    )
    others_a, others_b = a["path"], b["path"]
    for what in dict.fromkeys([*b["waits"], *a["waits"]]):
        (x, line_before), (y, line) = a["waits"].get(what, (0.0, 0)), b["waits"].get(what, (0.0, 0))
        others_a, others_b = others_a - x, others_b - y
        line = line if y >= x else line_before
        at = f" (line {line})" if line else ""
        yield _Cause((y - x) * path, f"waits for {what} {_cycles(x, y)}{at}")
    rest = f"{_count(a['instructions'])} → {_count(b['instructions'])} instructions a warp"
    yield _Cause((others_b - others_a) * path, rest)
    busiest = max(
        {*a["units"], *b["units"]},
        key=lambda name: max(a["units"].get(name, 0.0), b["units"].get(name, 0.0)),
        default="",
    )
    if busiest:
        x, y = (launch["units"].get(busiest, 0.0) * launch["together"] for launch in (a, b))
        yield _Cause((y - x) * units, f"{_UNITS.get(busiest, busiest)} busy {_cycles(x, y)}")
    for name, words in (("dram", "DRAM"), ("spilled", "spilled registers, in DRAM,")):
        x, y = (launch[name] * launch["together"] for launch in (a, b))
        yield _Cause((y - x) * dram, f"{words} {_cycles(x, y)}")
    fewer = f"{a['resident']} → {b['resident']} blocks at once on a multiprocessor"
    if a["resident"] != b["resident"]:
        yield _Cause((_waves(b) - _waves(a)) * wave, fewer)


def _memory(was: _Launch, now: _Launch) -> str:
    """The source line that asks memory for more than it did."""
    return next(
        filter(None, (traffic.grown_line(was.counted, now.counted, space) for space in ("global", "shared"))), ""
    )  # fmt: skip


def _spills(a: _Estimate, b: _Estimate) -> str:
    """Loads and stores of local memory, where there are others."""
    if abs(b["local"] - a["local"]) < 1:
        return ""
    accesses = (
        f"{_count(a['local'])} → {_count(b['local'])} loads and stores of local memory a warp"
    )
    return f"{accesses} (registers {a['registers']} → {b['registers']}, stack {a['stack']:,} → {b['stack']:,} bytes)"


def _cycles(before: float, after: float) -> str:
    return f"{_count(before)} → {_count(after)} cycles"


def _count(value: float) -> str:
    return f"{round(value):,}"


def _launches(record: Record) -> dict[traffic.Key, _Launch]:
    """The launches; none if one is not estimated."""
    by_key: dict[traffic.Key, _Launch] = {}
    for key, counted in traffic.by_launch(record).items():
        estimate = _read(counted.get("estimate"))
        if estimate is None:
            return {}
        times = counted.get("times", 1)
        by_key[key] = _Launch(counted, estimate, times if is_count(times) and times else 1)
    return by_key


def _is_figure(value: Any) -> bool:
    return is_size(value) and value < _MOST


def _read(noted: Any) -> dict[str, Any] | None:
    """An estimate that a cell wrote; None for anything else."""
    if not isinstance(noted, Mapping):
        return None
    estimate: dict[str, Any] = {}
    for name in (
        "path", "instructions", "dram", "spilled", "local", "resident", "together", "waves", "ghz",
    ):  # fmt: skip
        if not _is_figure(noted.get(name)):
            return None
        estimate[name] = noted[name]
    if not (estimate["ghz"] and estimate["together"] and estimate["waves"]):
        return None
    for name in ("registers", "stack"):
        estimate[name] = noted[name] if is_count(noted.get(name)) else 0
    units, waits, guessed = noted.get("units"), noted.get("waits"), noted.get("guessed")
    if not isinstance(units, Mapping) or not all(map(_is_figure, units.values())):
        return None
    estimate["units"] = {str(name): value for name, value in units.items()}
    estimate["waits"] = {
        str(what): (float(wait[0]), int(wait[1]))
        for what, wait in (waits.items() if isinstance(waits, Mapping) else ())
        if isinstance(wait, (list, tuple)) and len(wait) == 2 and all(map(_is_figure, wait))
    }
    estimate["guessed"] = guessed if isinstance(guessed, str) else ""
    return estimate
