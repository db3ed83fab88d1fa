"""Compares the results of one program in all columns: pure functions of its cells.

Cheapest first: a compiler that dies or hangs; a program that some columns refuse and others compile; a compilation that
takes five times a neighbour's processor time; wrong numbers. A wrong number is believed only when the same program has
right ones somewhere, and wrong ones twice: the PTX emulator may be wrong as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from . import costs
from .ran import Cell

# A compilation of so many times its neighbours' median seconds, and at least so long, is a finding.
SLOWER = 5.0
SLOW_SECONDS = 5.0
CRASH, REFUSAL, SLOW, NUMBERS = "crash", "refusal", "slow", "numbers"
RESOURCES = "resources"
# Why wrong numbers are not to be believed.
ONE_WITNESS = "no second witness"


@dataclass(frozen=True)
class Suspect:
    """A program that one cell shows something of.

    Attributes:
        kind: CRASH, REFUSAL, SLOW, NUMBERS or RESOURCES.
        bad: the cell that shows it.
        good: a cell of another column, else of another target, that does not; None where a compiler dies everywhere.
        doubt: why it is not to be believed; empty if it is.
    """

    kind: str
    bad: Cell
    good: Cell | None
    doubt: str = ""

    @property
    def key(self) -> tuple[str, ...]:
        """Two programs with one key share a root cause, until one of them was made small."""
        if self.kind in (CRASH, REFUSAL):
            return self.kind, self.bad.cause
        return self.kind, self.bad.column


def kind(cell: Cell) -> str:
    """Which kind of suspect a cell would be, if others do better; empty where it shows nothing."""
    if cell.dead:
        return CRASH
    if cell.refused:
        return REFUSAL
    if cell.wrong:
        return NUMBERS
    slow = cell.outcome == "pass" and (cell.compile_seconds or 0) >= SLOW_SECONDS
    return SLOW if slow else ""


def judge(cells: Sequence[Cell]) -> list[Suspect]:
    """Returns the suspects of a program, oldest column first; `cells` in the order of the columns' releases."""
    found = [_dead(cell, cells) for cell in cells if cell.dead]
    found += [one for cell in cells if cell.refused for one in _refused(cell, cells)]
    found += [_wrong(cell, cells) for cell in cells if cell.wrong]
    found += [one for cell in cells for one in _slow(cell, cells)]
    found += [one for cell in cells for one in _costly(cell, cells)]
    return found


def _dead(bad: Cell, cells: Sequence[Cell]) -> Suspect:
    return Suspect(
        CRASH, bad, _nearest(bad, [one for one in cells if one.outcome == "pass"], cells)
    )


def _refused(bad: Cell, cells: Sequence[Cell]) -> list[Suspect]:
    """Only where another column compiles it for the same target: else the program or the target is to blame."""
    passing = [one for one in cells if one.outcome == "pass" and one.target == bad.target]
    good = _nearest(bad, passing, cells)
    return [] if good is None else [Suspect(REFUSAL, bad, good)]


def _wrong(bad: Cell, cells: Sequence[Cell]) -> Suspect:
    good = _nearest(bad, [one for one in cells if one.outcome == "pass"], cells)
    if good is None:
        return Suspect(
            NUMBERS, bad, None, "no column has the right numbers: the meaning may be wrong"
        )
    if not any(witness(bad, one) for one in cells):
        return Suspect(NUMBERS, bad, good, ONE_WITNESS)
    return Suspect(NUMBERS, bad, good)


def witness(one: Cell, other: Cell) -> bool:
    """Whether `other` shows wrong numbers as well, on another target, in another column, or with other options."""
    place = (one.column, one.target, one.options)
    return other.wrong and (other.column, other.target, other.options) != place


def _slow(bad: Cell, cells: Sequence[Cell]) -> list[Suspect]:
    if bad.outcome != "pass" or (bad.compile_seconds or 0) < SLOW_SECONDS:
        return []
    others = [
        one for one in cells
        if one.target == bad.target and one.outcome == "pass" and one.compile_seconds and one.column != bad.column
    ]  # fmt: skip
    near = sorted(others, key=lambda one: _distance(bad, one, cells))[:4]
    if len(near) < 2:
        return []
    usual = median(one.compile_seconds or 0.0 for one in near)
    if (bad.compile_seconds or 0) < SLOWER * usual:
        return []
    return [Suspect(SLOW, bad, min(near, key=lambda one: one.compile_seconds or 0.0))]


def _costly(bad: Cell, cells: Sequence[Cell]) -> list[Suspect]:
    """Only where it costs more than in both of the nearest columns: one of them may have been good at it."""
    if bad.outcome != "pass":
        return []
    others = [
        one for one in cells
        if (one.target, one.outcome) == (bad.target, "pass") and one.column != bad.column
    ]  # fmt: skip
    near = sorted(others, key=lambda one: _distance(bad, one, cells))
    return [Suspect(RESOURCES, bad, near[0])] if costs.jump(bad, near) else []


def _nearest(bad: Cell, among: Sequence[Cell], cells: Sequence[Cell]) -> Cell | None:
    """Returns the cell of the nearest column, on the same target if there is one."""
    return min(among, key=lambda one: (one.target != bad.target, _distance(bad, one, cells)), default=None)  # fmt: skip


def _distance(one: Cell, other: Cell, cells: Sequence[Cell]) -> int:
    columns = list(dict.fromkeys(cell.column for cell in cells))
    return abs(columns.index(one.column) - columns.index(other.column))
