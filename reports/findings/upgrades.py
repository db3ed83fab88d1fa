"""What breaks between two columns of one run."""

from __future__ import annotations

from collections.abc import Sequence

from crosswarp.matrix import versions
from crosswarp.matrix.results import comparison
from crosswarp.matrix.results.verdict import triton_of
from crosswarp.reports.findings.diff import Diff, Side, grouped
from crosswarp.reports.findings.missing import unreached
from crosswarp.reports.findings.view import View


def ran(view: View) -> list[str]:
    """The columns of which anything ran, by release of Triton, oldest first."""
    found = [
        column
        for column in view.columns
        if any(record.outcome != "not-run" for record in view.by_column.get(column, ()))
    ]
    return sorted(found, key=lambda column: versions.sort_key(_release(view, column)))


def upgrade(view: View, before: str, after: str) -> Diff:
    """The differences from one column to another, by root cause."""
    pair = (before, after)
    short = unreached(view.planned, {one: view.by_column[one] for one in pair})
    sides = [Side("", view.by_column[one], one, whose=view.run.described.whose) for one in pair]
    pairs = comparison.pairs(
        *(side.records for side in sides),
        across_columns=True,
        unreached=(short & {before}, short & {after}),
    )
    return grouped(sides[0], sides[1], pairs, [view.verdict], view.reproducers)


def steps(view: View) -> Sequence[Diff]:
    """From each column that ran to the next newer one."""
    columns = ran(view)
    return [upgrade(view, *pair) for pair in zip(columns, columns[1:], strict=False)]


def _release(view: View, column: str) -> str | None:
    return triton_of(view.by_column[column][0])
