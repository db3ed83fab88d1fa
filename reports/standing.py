"""How a run stands, as a whole or in one column or target: what a badge and the first line of a report say.

What is counted is a case with its configuration on one column, target and lane, bare and shimmed together.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Literal

from crosswarp.matrix.record import Record
from crosswarp.reports.missing import missing, not_run
from crosswarp.reports.view import View

State = Literal["passing", "healed", "known", "regressed", "incomplete", "unsupported", "not-run"]


@dataclass(frozen=True)
class Standing:
    ok: int = 0
    # Red bare and green shimmed.
    healed: int = 0
    # Red as a known issue says, and not healed.
    known: int = 0
    # Red, and neither known nor healed as promised.
    regressed: int = 0
    # Green where a known issue says red.
    newly_green: int = 0
    unsupported: int = 0
    not_run: int = 0
    # Columns that never came to their cells.
    lost: tuple[str, ...] = ()
    # Whether all is there that was to run, and nothing went wrong beside the cells.
    whole: bool = True

    @property
    def state(self) -> State:
        """The one thing to know, worst first."""
        if self.regressed:
            return "regressed"
        if not (self.ok or self.healed or self.known):
            return "unsupported" if self.unsupported and not self.lost else "not-run"
        if self.not_run or self.lost or not self.whole:
            return "incomplete"
        if self.known or self.newly_green:
            return "known"
        return "healed" if self.healed else "passing"

    def told(self) -> str:
        """`1,204 ok · 3 healed`, with what is wrong first."""
        if self.state in ("not-run", "unsupported"):
            return {"not-run": "not run", "unsupported": "unsupported"}[self.state]
        columns = "1 column" if len(self.lost) == 1 else f"{len(self.lost)} columns"
        parts = [
            (self.regressed, f"{self.regressed:,} regressed"),
            (self.ok, f"{self.ok:,} ok"),
            (self.healed, f"{self.healed:,} healed"),
            (self.known, f"{self.known:,} known red"),
            (self.newly_green, f"{self.newly_green:,} newly green"),
            (len(self.lost), f"{columns} not run"),
            (self.not_run, f"{self.not_run:,} not run"),
            (not (self.whole or self.lost or self.not_run), "not whole"),
        ]
        return " · ".join(text for count, text in parts if count)


def standing(view: View, column: str | None = None, target: str | None = None) -> Standing:
    """Of the whole, or of one column or target."""

    def chosen(record: Record) -> bool:
        return column in (None, record.column) and target in (None, record.target)

    records = [record for record in view.records if chosen(record)]
    verdict = view.verdict
    regressed = {
        _place(record)
        for record in [*verdict.unexpected_red, *(record for record, _ in verdict.shim_failed)]
        if chosen(record)
    }
    healed = {_place(one.bare) for one in verdict.healed if chosen(one.bare)} - regressed
    lost = tuple(
        name
        for name in ([column] if column else view.columns)
        if not_run([record for record in records if record.column == name])
    )
    lacking = [one for one in missing(view) if column is None or one.column in ("", column)]
    problems = [
        note
        for note in view.notes
        if note.kind == "problem" and (not column or note.column in ("", column))
    ]
    # Where only the shims ran, theirs are the cells.
    bare = [record for record in records if record.mode == "bare"] or records
    places: dict[str, set[tuple[str, ...]]] = defaultdict(set)
    for record in bare:
        if record.outcome != "not-run" or record.column not in lost:
            places["red" if record.red else record.outcome].add(_place(record))
    return Standing(
        ok=len(places["pass"] - regressed),
        healed=len(healed),
        known=len(places["red"] - regressed - healed),
        regressed=len(regressed),
        newly_green=sum(chosen(green.record) for green in verdict.unexpectedly_green),
        unsupported=len(places["unsupported"]),
        not_run=len(places["not-run"]),
        lost=lost,
        whole=not (lacking or problems),
    )


def _place(record: Record) -> tuple[str, ...]:
    return (
        record.column, record.target, record.lane, record.kernel, record.case, record.config,
    )  # fmt: skip
