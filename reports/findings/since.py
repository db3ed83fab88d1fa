"""News of a run since a baseline or another run, for readers who know the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from crosswarp.matrix.errors import UsageError
from crosswarp.matrix.facts.issues import Issue
from crosswarp.reports.findings import diff
from crosswarp.reports.findings.diff import Group
from crosswarp.reports.findings.view import View


@dataclass(frozen=True)
class Since:
    name: str
    # Failing now, and passing or absent before.
    worse: tuple[Group, ...] = ()
    # Failing before, and now for another reason.
    changed: tuple[Group, ...] = ()
    fixed: tuple[Group, ...] = ()
    # The number of cells that pass on both sides and are heavier or slower now.
    heavier: int = 0
    # Why nothing was compared.
    why_not: str = ""


def compared(view: View, name: str, store: Path, issues: Sequence[Issue]) -> Since | None:
    """Compares the run of `view` with `name`, as `crosswarp diff` does; None without a name.

    If they cannot be compared, the result says why, and the report goes on.
    """
    if not name:
        return None
    try:
        changes = diff.diff(diff.side(name, store), diff.side(str(view.run.id), store), issues)
    except UsageError as error:
        return Since(name, why_not=str(error))

    def of(*outcomes: str) -> tuple[Group, ...]:
        return tuple(
            group
            for group in changes.groups
            if group.outcome in outcomes
            and (group.outcome != "new" or any(p.after and p.after.red for p in group.pairs))
        )

    heavier = sum(changes.counts.get(outcome, 0) for outcome in ("resource-regressed", "slower"))
    return Since(name, of("regressed", "new"), of("changed-failure"), of("fixed"), heavier)
