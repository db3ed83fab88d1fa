"""Microseconds that a launch keeps the host, compared: which kernel takes longer to launch, and how many times as long.

CPU time, the best of several batches, and beside it in the same process the time of work that is always alike: what
is slower by that is the machine, and not the release. On a busy machine the rest still differs by a third from one
time to the next; the number of functions that are called does not, and without more of them nothing is reported.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from crosswarp.matrix.results.figures import is_count, is_size
from crosswarp.matrix.results.record import Record
from crosswarp.matrix.results.resources import Change

METRIC = "launch"
FACTOR = 1.25
# The least ratio of calls that counts as more: another release of Python or torch may have one more or less.
MORE_CALLS = 1.05
# Microseconds of the constant work, on the machines of 2026.
_USUAL_PACE = 20.0
# Below that a factor is that of a small number.
MORE_MICROSECONDS = 3.0


def slower(before: Record, after: Record) -> tuple[Change, ...]:
    """A change for each kernel that takes `FACTOR` times as long to launch, and `MORE_MICROSECONDS` longer."""
    if "launch_us" not in before.resources or "launch_us" not in after.resources:
        return ()
    old, new = _read(before), _read(after)
    calls = _calls(before), _calls(after)
    changes = []
    for kernel in sorted(old.keys() & new.keys()):
        was, now = old[kernel], new[kernel]
        a, b = (side.get(kernel, 0) for side in calls)
        if not a or b < MORE_CALLS * a:
            continue
        if now >= FACTOR * was and now - was >= MORE_MICROSECONDS:
            change = f"{a} → {b} calls of functions"
            changes.append(Change(METRIC, kernel, round(was, 1), round(now, 1), "µs", change))
    return tuple(changes)


def _read(record: Record) -> Mapping[str, float]:
    """Microseconds by kernel, as on a machine whose constant work takes `_USUAL_PACE`."""
    noted: Any = record.resources.get("launch_us")
    pace: Any = record.resources.get("pace_us")
    if not isinstance(noted, Mapping) or not (is_size(pace) and pace):
        return {}
    return {
        str(kernel): value * _USUAL_PACE / pace
        for kernel, value in noted.items()
        if is_size(value) and value
    }


def _calls(record: Record) -> Mapping[str, int]:
    noted: Any = record.resources.get("launch_calls")
    if not isinstance(noted, Mapping):
        return {}
    return {str(kernel): value for kernel, value in noted.items() if is_count(value)}
