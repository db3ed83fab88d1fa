"""Planned results that a run lacks: every report lists them, because a missing result does not show as a failure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from crosswarp.matrix.results.record import LANES, Record

if TYPE_CHECKING:
    from crosswarp.reports.findings.view import View

# Column and lane -> the cases that its suite said it would run.
Planned = Mapping[tuple[str, str], int]


@dataclass(frozen=True)
class Missing:
    # Empty: of the whole run.
    column: str
    what: str

    def __str__(self) -> str:
        return f"{self.column}: {self.what}" if self.column else self.what


def missing(view: View) -> list[Missing]:
    """One sentence for each thing; nothing where a run is whole."""
    lacking = []
    if view.run.status != "finished":
        lacking.append(Missing("", f"This run is not whole: {view.run.status}."))
    for column, sentences in view.missing.items():
        lacking += [Missing(column, sentence) for sentence in sentences]
    return lacking


def unreached(planned: Planned, by_column: Mapping[str, Sequence[Record]]) -> set[str]:
    """Returns the columns that did not run all of their cells."""
    return {column for column, cells in by_column.items() if of_column(planned, column, cells)}


def not_run(records: Sequence[Record]) -> bool:
    """Whether a column never came to its cells."""
    return all(record.outcome == "not-run" for record in records)


def of_column(planned: Planned, column: str, records: Sequence[Record]) -> list[str]:
    if not records:
        return ["Nothing was recorded."]
    reasons = Counter(record.reason for record in records if record.outcome == "not-run")
    why = ", ".join(reason or "for no reason given" for reason in reasons)
    if not_run(records):
        return [f"Not run ({why})."]
    sentences = [f"{reasons.total()} cells not run ({why})."] if reasons else []
    of_lanes: dict[str, set[tuple[str, ...]]] = {lane: set() for lane in LANES}
    for entry in records:
        if entry.case != "*":
            of_lanes[entry.lane].add((entry.target, entry.mode, entry.kernel, entry.case))
    for lane, items in of_lanes.items():
        lost = planned.get((column, lane), 0) - len(items)
        if lost > 0:
            sentences.append(f"{lost} planned cases have no outcome in the lane {lane}.")
    return sentences
