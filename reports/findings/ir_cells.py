"""Which cells of a run get compiler texts on the page: one for each failing cause, then the largest growth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from crosswarp.matrix.running.ir import Wanted
from crosswarp.reports.findings.diff import Diff, Group

# Both have a compiler, and the texts are the same.
_LANES = ("compile", "emulate")


@dataclass(frozen=True)
class Shown:
    kernel: str
    case: str
    config: str
    target: str
    # The comparison: `regressed`, `resource-regressed`, ...
    what: str
    # The column before, and the one that fails or is heavier.
    before: str
    after: str

    def on(self, column: str) -> Wanted:
        return Wanted(column, self.target, self.kernel, self.case, self.config)


def chosen(steps: Sequence[Diff], most: int) -> list[Shown]:
    """At most `most`, the regressed first; `steps` are diffs of columns next to each other."""
    shown: dict[tuple[str, str], Shown] = {}
    for outcome in ("regressed", "changed-failure", "resource-regressed"):
        for step in steps:
            for group in step.of(outcome):
                if cell := _of(group, step):
                    shown.setdefault((outcome, cell.kernel), cell)
    return list(shown.values())[:most]


def _of(group: Group, step: Diff) -> Shown | None:
    for pair in group.pairs:
        record = pair.record
        if pair.before and pair.after and record.lane in _LANES and record.mode == "bare":
            return Shown(
                record.kernel, record.case, record.config, record.target, group.outcome,
                step.before.column or "", step.after.column or "",
            )  # fmt: skip
    return None


def by_kernel(cells: Sequence[Shown]) -> Mapping[str, list[Shown]]:
    mine: dict[str, list[Shown]] = {}
    for cell in cells:
        mine.setdefault(cell.kernel, []).append(cell)
    return mine
