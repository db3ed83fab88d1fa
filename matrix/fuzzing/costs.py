"""What a program costs in one column beside its neighbours: registers, memory of a thread's own, shared memory.

By the thresholds of the matrix's own comparison (results/resources.py), which say why each is one. A program may be
worse than one neighbour because that one was better than all; so a jump is what is worse than both.
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
    """What of `bad` is worse than what `good` has, of the same program on the same target; nothing that is a trade."""
    if not (bad.outcome == good.outcome == "pass" and bad.target == good.target):
        return ()
    # What was not assembled has none.
    if not (bad.resources and good.resources):
        return ()
    changes = resources.grown(_record(good), _record(bad))
    return tuple(change for change in changes if not change.told)


def jump(bad: Cell, near: Sequence[Cell]) -> tuple[Change, ...]:
    """What of `bad` is worse than what each of `near` has, as many as it takes; against the first of them."""
    found = [more(bad, one) for one in near[:NEAR]]
    if len(found) < NEAR:
        return ()
    common = set.intersection(*({change.metric for change in one} for one in found))
    return tuple(change for change in found[0] if change.metric in common)


def words(changes: Sequence[Change]) -> str:
    """``registers 40 -> 96``, of each."""
    return ", ".join(f"{one.metric} {one.before} -> {one.after}" for one in changes)


def _record(cell: Cell) -> Record:
    # A column's own name for the kernel is no difference, nor is the compilation's time, which is a finding by itself.
    launch = {**cell.resources, "kernel": "kernel"}
    return Record(
        cell.column, cell.target, "compile", "bare", "", "", resources={"launches": [launch]}
    )
