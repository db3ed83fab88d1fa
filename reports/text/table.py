"""The grid: kernel x column, one mark for bare -> shimmed; once for each lane and target that differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tabulate import tabulate

from crosswarp.matrix.results.record import OUTCOMES, Record
from crosswarp.reports.findings.view import View
from crosswarp.reports.text import escape

ABSENT = "-"
# The worst outcome of a kernel's cells is its mark; a cell that did not run hides no red one.
WORST = (
    "crash",
    "timeout",
    "fault",
    "mismatch",
    "compile-error",
    "api-error",
    "limit",
    "pass",
    "unsupported",
    "not-run",
)
assert sorted(WORST) == sorted(OUTCOMES)


@dataclass(frozen=True)
class Grid:
    lane: str
    targets: tuple[str, ...]
    columns: tuple[str, ...]
    # Kernel and, for each column, the mark.
    rows: tuple[tuple[str, tuple[str, ...]], ...]


def grids(view: View) -> list[Grid]:
    """One grid a lane and target; targets whose grids are equal share one."""
    shared: dict[tuple, list[str]] = {}
    for (lane, target), cells in view.by_place.items():
        rows = tuple(
            (kernel, tuple(mark(cells.get((kernel, column), ())) for column in view.columns))
            for kernel in sorted({kernel for kernel, _ in cells})
        )
        shared.setdefault((lane, rows), []).append(target)
    return [
        Grid(lane, tuple(targets), tuple(view.columns), rows)
        for (lane, rows), targets in shared.items()
    ]


def mark(records: Sequence[Record]) -> str:
    """`crash → pass`: the worst of the bare cells, then the worst of the shimmed ones; one word when both agree."""
    modes = {mode: _worst([r for r in records if r.mode == mode]) for mode in ("bare", "shimmed")}
    bare, shimmed = modes["bare"], modes["shimmed"]
    if bare == shimmed:
        return bare
    return f"{bare} → {shimmed}"


def _worst(records: Sequence[Record]) -> str:
    outcomes = {record.outcome for record in records}
    return next((outcome for outcome in WORST if outcome in outcomes), ABSENT)


def table(view: View) -> str:
    parts = [
        f"{escape.line(column)} is {escape.line(view.label(column))}"
        for column in view.columns
        if view.label(column) != column
    ]
    for grid in grids(view):
        rows = [[escape.line(kernel, 60), *marks] for kernel, marks in grid.rows]
        heads = ["kernel", *(escape.line(column) for column in grid.columns)]
        body = tabulate(rows, heads, tablefmt="simple", disable_numparse=True)
        parts.append(
            f"{grid.lane}: {', '.join(escape.line(target, 60) for target in grid.targets)}\n{body}"
        )
    return "\n\n".join(parts)
