"""A program's cost in one column compared with its neighbours: registers, memory of each thread, shared memory.

The thresholds are those of the matrix's comparison (results/resources.py), which gives the reason for each. A program
may be worse than one neighbour because that one beat all others; so a jump is worse than both.
"""

from __future__ import annotations

from collections.abc import Sequence

from crosswarp.matrix.results import resources
from crosswarp.matrix.results.record import Record
from crosswarp.matrix.results.resources import Change

from .ran import Cell

# Neighbours that have to agree.
NEAR = 2


def more(bad: Cell, good: Cell) -> tuple[Change, ...]:
    """Returns the costs in which `bad` exceeds `good`, the same program on the same target; trade-offs do not count."""
    if not (bad.outcome == good.outcome == "pass" and bad.target == good.target):
        return ()
    # A program that was not assembled has no resources.
    if not (bad.resources and good.resources):
        return ()
    changes = resources.grown(_record(good), _record(bad))
    return tuple(change for change in changes if not change.remark)


def jump(bad: Cell, near: Sequence[Cell]) -> tuple[Change, ...]:
    """Returns the costs in which `bad` exceeds each of the required neighbours in `near`; figures against the first."""
    found = [more(bad, one) for one in near[:NEAR]]
    if len(found) < NEAR:
        return ()
    common = set.intersection(*({change.metric for change in one} for one in found))
    return tuple(change for change in found[0] if change.metric in common)


def words(changes: Sequence[Change]) -> str:
    """``registers 40 -> 96``, of each."""
    return ", ".join(f"{one.metric} {one.before} -> {one.after}" for one in changes)


def _record(cell: Cell) -> Record:
    # A column's name for the kernel is not a difference; nor is the compile time, which is a separate finding.
    launch = {**cell.resources, "kernel": "kernel"}
    return Record(
        cell.column, cell.target, "compile", "bare", "", "", resources={"launches": [launch]}
    )
