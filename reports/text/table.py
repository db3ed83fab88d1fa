"""The grid: kernel x column, one mark for without -> with compat; once for each lane and target that differ."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from crosswarp.matrix.results.record import Record
from crosswarp.matrix.results.vocabulary import WORST
from crosswarp.reports.findings.view import View
from crosswarp.reports.text import escape
from crosswarp.reports.text.layout import LONGEST, WIDTH, fill, side_by_side
from crosswarp.reports.text.signs import SIGNS

ABSENT = "-"
_NAME, _LONGEST_COLUMN = 24, 20


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
    """`crash → pass`: the worst cell without compat, then the worst with it; one word when both agree."""
    modes = {mode: _worst([r for r in records if r.mode == mode]) for mode in ("bare", "shimmed")}
    bare, shimmed = modes["bare"], modes["shimmed"]
    if bare == shimmed:
        return bare
    return f"{bare} → {shimmed}"


def _worst(records: Sequence[Record]) -> str:
    outcomes = {record.outcome for record in records}
    return next((outcome for outcome in WORST if outcome in outcomes), ABSENT)


def table(view: View, verbose: bool = False) -> str:
    """On a terminal: signs instead of words, with a legend, and as many columns side by side as fit.

    A kernel that passes on all supported cells is counted, and shown when `verbose`.
    """
    parts = [
        fill("", f"{escape.line(column)} is {escape.line(view.label(column), LONGEST)}")
        for column in view.columns
        if view.label(column) != column
    ]
    seen: set[str] = set()
    for grid in grids(view):
        targets = ", ".join(escape.line(target, 60) for target in grid.targets)
        lines = [fill("", f"{grid.lane}: {targets}")]
        quiet = [
            row
            for row in grid.rows
            if not verbose and set(row[1]) <= {"pass", "unsupported", ABSENT}
        ]
        rows = [row for row in grid.rows if row not in quiet]
        suite = [row for row in rows if row[0] not in view.reproducers]
        lines += _blocks(view, grid, suite, "kernel")
        shows = [row for row in rows if row[0] in view.reproducers]
        lines += _blocks(view, grid, shows, "reproducer")
        if quiet:
            lines.append(
                f"{len(quiet)} kernels pass wherever they ran, without compat and with it (-v: all)."
            )
        seen |= {part for _, marks in rows for mark in marks for part in mark.split(" → ")}
        parts.append("\n".join(lines))
    if seen:
        parts.append(_legend(seen))
    return "\n\n".join(parts)


def _blocks(
    view: View, grid: Grid, rows: Sequence[tuple[str, tuple[str, ...]]], head: str
) -> list[str]:
    if not rows:
        return []
    shown = [
        (
            escape.line(kernel, WIDTH),
            ["".join(SIGNS.get(part, " ") for part in mark.split(" → ")) for mark in marks],
        )
        for kernel, marks in rows
    ]
    return side_by_side(head, short(grid.columns), shown, _NAME, gap=2)


def short(columns: Sequence[str]) -> list[str]:
    """`3.2` for triton-3.2.0, where no other column is of that minor."""
    bare = [escape.line(column).removeprefix("triton-") for column in columns]
    minors = [".".join(version.split(".")[:2]) for version in bare]
    plain = [re.fullmatch(r"[0-9]+(\.[0-9]+){1,2}", version) for version in bare]
    return [
        escape.line(minor if is_plain and minors.count(minor) == 1 else version, _LONGEST_COLUMN)
        for version, minor, is_plain in zip(bare, minors, plain)
    ]


def _legend(seen: Collection[str]) -> str:
    signs = [f"{SIGNS[outcome]} {outcome}" for outcome in WORST if outcome in seen]
    return fill(
        "Signs: ",
        f"{', '.join(signs)}; of two, the first is without compat and the second with it.",
    )
