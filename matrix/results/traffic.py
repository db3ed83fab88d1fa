"""Compares the memory traffic that the emulator counted for a kernel: is it predicted slower?

Global memory works in sectors of 32 bytes, shared memory in wavefronts over its banks; the source of both is in
matrix/cell/observers/counters.py. A kernel that needs twice as many of either for the same launch is
predicted slower. How much slower nobody can say from this alone: registers, the schedule of the machine code and what
waits for what are not in it, so no time is predicted. tests/proofs/performance_against_device.py has what it is worth.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from crosswarp.matrix.results.figures import is_count
from crosswarp.matrix.results.record import Record
from crosswarp.matrix.results.resources import Change

METRIC = "traffic"
FACTOR = 2.0
# Of a launch: below that a factor is that of a small number.
LEAST = 64


class Unit(NamedTuple):
    """A counter of a launch; `space` of its accesses."""

    name: str
    space: str
    words: str


UNITS = (
    Unit("sectors", "global", "sectors of global memory"),
    Unit("wavefronts", "shared", "wavefronts of shared memory"),
)

_Launch = Mapping[str, Any]


def slower(before: Record, after: Record) -> tuple[Change, ...]:
    """A change for each launch and unit with `FACTOR` times the work, with the source line that has most of it."""
    if not (before.resources.get("counters") and after.resources.get("counters")):
        return ()
    old, new = _launches(before), _launches(after)
    found = []
    for key, now in new.items():
        was = old.get(key)
        if was is None:
            continue
        for unit in UNITS:
            a, b = _figure(was, unit.name), _figure(now, unit.name)
            if a is not None and b is not None and predicts(a, b):
                what = f"{key[0]}, {key[1]} warps"
                found.append(Change(METRIC, what, a, b, unit.words, _line(was, now, unit)))
    return tuple(found)


def predicts(before: float, after: float) -> bool:
    """Whether so much more work of a unit is reported."""
    return after >= LEAST and after >= FACTOR * before


def _figure(counted: Mapping[str, Any], name: str) -> int | None:
    """A count that a cell wrote; None for anything else."""
    value = counted.get(name)
    return value if isinstance(value, int) and is_count(value) else None


def _line(was: _Launch, now: _Launch, unit: Unit) -> str:
    """The source line whose accesses grew the most; both sides run the same source, so lines have their numbers."""
    then = _by_line(was, unit)
    grown = {
        place: each[0] - then.get(place, (0, 1))[0] for place, each in _by_line(now, unit).items()
    }
    if not grown or max(grown.values()) <= 0:
        return ""
    place = max(grown, key=grown.__getitem__)
    units, requests = _by_line(now, unit)[place]
    line, what = place
    said = f"line {line}, {what}: {units / max(requests, 1):.3g} {unit.name} a request"
    if place in then:
        units, requests = then[place]
        said += f" where it was {units / max(requests, 1):.3g}"
    return said


def _by_line(launch: _Launch, unit: Unit) -> dict[tuple[int, str], tuple[int, int]]:
    """Work and requests, by source line and whether it loads or stores: cp.async is a load like any other."""
    found: dict[tuple[int, str], tuple[int, int]] = {}
    memory = launch.get("memory")
    for one in memory if isinstance(memory, list) else []:
        if not isinstance(one, Mapping) or one.get("space") != unit.space:
            continue
        what = one.get("what")
        line, work, requests = (_figure(one, name) for name in ("line", unit.name, "requests"))
        if line is None or work is None or requests is None or not isinstance(what, str):
            continue
        what = "store" if "store" in what or what == "stmatrix" else "load"
        before = found.get((line, what), (0, 0))
        found[line, what] = (before[0] + work, before[1] + requests)
    return found


def _launches(record: Record) -> dict[tuple[str, int, tuple[int, ...], int], _Launch]:
    """The counted launches by kernel, warps and grid, and which of several alike it is."""
    found: dict[tuple[str, int, tuple[int, ...], int], _Launch] = {}
    noted = record.resources.get("counters")
    for one in noted if isinstance(noted, list) else []:
        if not isinstance(one, Mapping) or not is_count(one.get("num_warps")):
            continue
        grid = one.get("grid")
        size = tuple(grid) if isinstance(grid, list) and all(map(is_count, grid)) else ()
        number = 0
        while (key := (str(one.get("kernel", "")), one["num_warps"], size, number)) in found:
            number += 1
        found[key] = one
    return found
