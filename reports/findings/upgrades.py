"""Breaking changes between two columns of one run."""

from __future__ import annotations

from collections.abc import Sequence

from crosswarp.matrix import versions
from crosswarp.matrix.results import comparison
from crosswarp.matrix.results.comparison import Cells
from crosswarp.matrix.results.verdict import triton_of
from crosswarp.reports.findings.diff import Diff, Explained, Side, grouped
from crosswarp.reports.findings.view import View


def ran(view: View) -> list[str]:
    """The columns of which anything ran, by release of Triton, oldest first."""
    columns = [
        column
        for column in view.columns
        if any(record.outcome != "not-run" for record in view.by_column.get(column, ()))
    ]
    return sorted(columns, key=lambda column: versions.sort_key(_release(view, column)))


class Upgrades:
    """The upgrades of a view. Shared parts are computed once: a page shows every pair of columns."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._short = {column for column, sentences in view.missing.items() if sentences}
        self._explained = Explained([view.verdict])
        self._cells: dict[str, Cells] = {}
        self._numbers: dict[tuple[str, ...], int] = {}

    def upgrade(self, before: str, after: str) -> Diff:
        """The differences from one column to another, by root cause. Its pairs are of cells that may differ."""
        view, short = self._view, self._short
        sides = [
            Side("", view.by_column[column], column, whose=view.run.described.whose)
            for column in (before, after)
        ]
        pairs = comparison.paired(
            self._of(before), self._of(after), (short & {before}, short & {after}), differing=True
        )
        return grouped(sides[0], sides[1], pairs, self._explained, view.reproducers)

    def _of(self, column: str) -> Cells:
        if column not in self._cells:
            self._cells[column] = Cells(self._view.by_column[column], True, self._numbers)
        return self._cells[column]


def steps(view: View) -> Sequence[Diff]:
    """From each column that ran to the next newer one."""
    columns, upgrades = ran(view), Upgrades(view)
    return [upgrades.upgrade(*pair) for pair in zip(columns, columns[1:], strict=False)]


def _release(view: View, column: str) -> str | None:
    return triton_of(view.by_column[column][0])
