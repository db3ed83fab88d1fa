"""The state of a run, as a whole or in one column or target: for a badge and the first line of a report.

The unit is a case with its configuration on one column, target and lane, both modes together.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from crosswarp.matrix.results import vocabulary
from crosswarp.matrix.results.record import Record
from crosswarp.matrix.results.vocabulary import STANDINGS
from crosswarp.reports.findings.missing import missing, not_run
from crosswarp.reports.findings.view import View


@dataclass(frozen=True)
class Standing:
    ok: int = 0
    # Failing without compat and passing with it.
    fixed: int = 0
    # Failing as a known issue predicts, and not fixed by compat.
    known: int = 0
    # Failing, and neither known nor fixed as promised.
    regressed: int = 0
    # Passing where a known issue predicts a failure.
    newly_green: int = 0
    unsupported: int = 0
    not_run: int = 0
    # Columns that never came to their cells.
    lost: tuple[str, ...] = ()
    # Whether everything planned ran, and nothing went wrong beside the cells.
    whole: bool = True

    @property
    def state(self) -> vocabulary.Standing:
        """The one thing to know, worst first."""
        if self.regressed:
            return "regressed"
        if not (self.ok or self.fixed or self.known):
            return "unsupported" if self.unsupported and not self.lost else "not-run"
        if self.not_run or self.lost or not self.whole:
            return "incomplete"
        if self.known or self.newly_green:
            return "known"
        return "fixed" if self.fixed else "passing"

    def summary(self, failing: str = STANDINGS["regressed"].short) -> str:
        """A line such as `1,204 ok · 3 fixed`, failures first; `failing` is the word for those."""
        if self.state in ("not-run", "unsupported"):
            return STANDINGS[self.state].short
        columns = "1 column" if len(self.lost) == 1 else f"{len(self.lost)} columns"
        parts = [
            (self.regressed, f"{self.regressed:,} {failing}"),
            (self.ok, f"{self.ok:,} {STANDINGS['passing'].short}"),
            (self.fixed, f"{self.fixed:,} {STANDINGS['fixed'].short}"),
            (self.known, f"{self.known:,} {STANDINGS['known'].short}"),
            (self.newly_green, f"{self.newly_green:,} newly passing"),
            (len(self.lost), f"{columns} not run"),
            (self.not_run, f"{self.not_run:,} not run"),
            (not (self.whole or self.lost or self.not_run), "not whole"),
        ]
        return " · ".join(text for count, text in parts if count)


def standing(view: View, column: str | None = None, target: str | None = None) -> Standing:
    """Counts the outcomes of the whole view, or of one column or target."""

    def chosen(record: Record) -> bool:
        return column in (None, record.column) and target in (None, record.target)

    lost = tuple(
        name
        for name in ([column] if column else view.columns)
        if not_run([record for record in view.by_column.get(name, ()) if chosen(record)])
    )
    lacking = [gap for gap in missing(view) if column is None or gap.column in ("", column)]
    problems = [
        note
        for note in view.notes
        if note.kind == "problem" and (not column or note.column in ("", column))
    ]
    counts = Counter(
        mark
        for place, mark in view.marks.items()
        if column in (None, place[0]) and target in (None, place[1])
        # A lost column has one entry: that it was lost.
        if (mark, place[0] in lost) != ("not-run", True)
    )
    return Standing(
        ok=counts["passing"],
        fixed=counts["fixed"],
        known=counts["known"],
        regressed=counts["regressed"],
        newly_green=sum(chosen(green.record) for green in view.verdict.unexpectedly_green),
        unsupported=counts["unsupported"],
        not_run=counts["not-run"],
        lost=lost,
        whole=not (lacking or problems),
    )
