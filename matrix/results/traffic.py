"""Which source line asks memory for more than it did: sectors of global memory, or wavefronts of shared memory.

Global memory works in sectors of 32 bytes, shared memory in wavefronts over its banks; the source of both is in
matrix/cell/observers/counters.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from crosswarp.matrix.results.figures import is_count

UNITS = {"global": "sectors", "shared": "wavefronts"}
# Below that, of a launch and of a request, an increase does not count.
LEAST = 64
FACTOR = 1.5

_Launch = Mapping[str, Any]


def grown_line(was: _Launch, now: _Launch, space: str) -> str:
    """The line whose requests to `space` need `FACTOR` times the work, that with the most more; empty for none.

    Both are one launch as a cell counted it. Both ran the same source, so lines have their numbers.
    """
    then = _by_line(was, space)
    worst_line, most = "", 0.0
    for place, (units, requests) in _by_line(now, space).items():
        before, asked = then.get(place, (0, 0))
        if not (asked and requests) or units < LEAST:
            continue
        old, new = before / asked, units / requests
        if new >= FACTOR * old and units - before > most:
            most = units - before
            line, what = place
            worst_line = (
                f"line {line}, {what}: {new:.3g} {UNITS[space]} a request where it was {old:.3g}"
            )
    return worst_line


def _by_line(launch: _Launch, space: str) -> dict[tuple[int, str], tuple[int, int]]:
    """Work and requests, by source line and whether it loads or stores: cp.async is a load like any other."""
    totals: dict[tuple[int, str], tuple[int, int]] = {}
    memory = launch.get("memory")
    for access in memory if isinstance(memory, list) else []:
        if not isinstance(access, Mapping) or access.get("space") != space:
            continue
        line, work, requests = (_count(access, name) for name in ("line", UNITS[space], "requests"))
        what = access.get("what")
        if line is None or work is None or requests is None or not isinstance(what, str):
            continue
        what = "store" if "store" in what or what == "stmatrix" else "load"
        before = totals.get((line, what), (0, 0))
        totals[line, what] = (before[0] + work, before[1] + requests)
    return totals


def _count(counted: Mapping[str, Any], name: str) -> int | None:
    """A count that a cell wrote; None for anything else."""
    value = counted.get(name)
    return value if isinstance(value, int) and is_count(value) else None
