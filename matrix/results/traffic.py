"""Which source line asks memory for more than it did: sectors of global memory, or what shared memory serves at once.

Global memory works in sectors, shared memory in wavefronts (NVIDIA) or cycles (AMD) over its banks; the sources are in
matrix/cell/observers/counters.py and amd_counters.py. Where no time was predicted, such lines are shown and not judged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from crosswarp.matrix.results.figures import is_count
from crosswarp.matrix.results.record import Record
from crosswarp.matrix.results.resources import Change

UNITS = {"global": ("sectors",), "shared": ("wavefronts", "cycles")}
METRICS = {"global": "sectors", "shared": "banks"}
NOT_JUDGED = "shown only: no time was predicted"
# Below that, of a launch and of a request, an increase does not count.
LEAST = 64
FACTOR = 1.5
# No launch counts more, and a quotient of larger numbers may be no float.
MOST = 2**63

_Launch = Mapping[str, Any]
Key = tuple[str, Any, tuple[int, ...], int]


class _Line(NamedTuple):
    """A line's units of work a request, before and after."""

    line: int
    what: str
    before: float
    after: float
    unit: str


def by_launch(record: Record) -> dict[Key, _Launch]:
    """The counted launches of a cell, by kernel, warps and grid, and which of several alike it is."""
    launches: dict[Key, _Launch] = {}
    alike: Counter[tuple[str, Any, tuple[int, ...]]] = Counter()
    noted = record.resources.get("counters")
    for counted in noted if isinstance(noted, list) else []:
        if not isinstance(counted, Mapping):
            continue
        grid, warps = counted.get("grid"), counted.get("num_warps")
        size = tuple(grid) if isinstance(grid, list) and all(map(is_count, grid)) else ()
        launch = (str(counted.get("kernel", "")), warps if is_count(warps) else 0, size)
        launches[(*launch, alike[launch])] = counted
        alike[launch] += 1
    return launches


def grown(before: Record, after: Record) -> Iterator[Change]:
    """For each launch and memory, the line whose work grew most.

    Only lines count that need `FACTOR` times the work, both a request and in total.
    """
    old = by_launch(before)
    for key, now in by_launch(after).items():
        for space, metric in METRICS.items():
            line = _grown(old.get(key, {}), now, space)
            if line:
                what = f"{key[0]}, {key[1]} warps, line {line.line}, {line.what}"
                unit = "a request" if metric == line.unit else f"{line.unit} a request"
                yield Change(
                    metric, what, round(line.before, 2), round(line.after, 2), unit, NOT_JUDGED
                )


def grown_line(was: _Launch, now: _Launch, space: str) -> str:
    """The same in words; empty for none. Both are one launch as a cell counted it."""
    line = _grown(was, now, space)
    if line is None:
        return ""
    return f"line {line.line}, {line.what}: {line.after:.3g} {line.unit} a request where it was {line.before:.3g}"


def _grown(was: _Launch, now: _Launch, space: str) -> _Line | None:
    then = _by_line(was, space)
    worst, most = None, 0.0
    # Both ran the same source, so lines have their numbers.
    for place, (units, requests) in _by_line(now, space).items():
        before, asked = then.get(place, (0, 0))
        if not (asked and requests) or units < LEAST:
            continue
        old, new = before / asked, units / requests
        # Fewer and wider accesses need more a request, for the same work.
        more = new >= FACTOR * old and units >= FACTOR * before
        if more and units - before > most:
            most = units - before
            line, what, unit = place
            worst = _Line(line, what, old, new, unit)
    return worst


def _by_line(launch: _Launch, space: str) -> dict[tuple[int, str, str], tuple[int, int]]:
    """Work and requests, by source line, "load" or "store", and the unit; cp.async is a load like any other."""
    totals: dict[tuple[int, str, str], tuple[int, int]] = {}
    memory = launch.get("memory")
    for access in memory if isinstance(memory, list) else []:
        if not isinstance(access, Mapping) or access.get("space") != space:
            continue
        unit = next((name for name in UNITS[space] if name in access), "")
        line, work, requests = (_count(access, name) for name in ("line", unit, "requests"))
        what = access.get("what")
        if line is None or work is None or requests is None or not isinstance(what, str):
            continue
        place = (line, "store" if "store" in what or what == "stmatrix" else "load", unit)
        before = totals.get(place, (0, 0))
        totals[place] = (before[0] + work, before[1] + requests)
    return totals


def _count(counted: Mapping[str, Any], name: str) -> int | None:
    """A count that a cell wrote; None for anything else."""
    value = counted.get(name)
    return value if isinstance(value, int) and is_count(value) and value <= MOST else None
