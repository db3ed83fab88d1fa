"""What the verdict says of each cell, for the reports that list cells one by one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from crosswarp.matrix.facts.issues import Issue
from crosswarp.reports.findings.view import View

Kind = Literal[
    "known", "expected", "unexpectedly red", "not healed", "unexpectedly green", "unexpected pass"
]


@dataclass(frozen=True)
class Fate:
    kind: Kind
    issue: Issue | None = None

    @property
    def wrong(self) -> bool:
        """Whether it fails the run."""
        return self.kind not in ("known", "expected")


def fates(view: View) -> dict[str, Fate]:
    """By the id of the cell; what is green or left out, as it should be, has none."""
    verdict = view.verdict
    found = {record.id: Fate("known", issue) for record, issue in verdict.known}
    found.update({record.id: Fate("expected") for record in verdict.expected})
    found.update(
        {
            record.id: Fate("unexpectedly red", verdict.explained.get(record.id))
            for record in verdict.unexpected_red
        }
    )
    found.update({record.id: Fate("unexpected pass") for record in verdict.unexpected_pass})
    found.update({record.id: Fate("not healed", issue) for record, issue in verdict.shim_failed})
    found.update(
        {one.record.id: Fate("unexpectedly green", one.issue) for one in verdict.unexpectedly_green}
    )
    return found
