"""The verdict on each cell, for the reports that list cells one by one."""

from __future__ import annotations

from dataclasses import dataclass

from crosswarp.matrix.facts.issues import Issue
from crosswarp.matrix.results import vocabulary
from crosswarp.reports.findings.view import View


@dataclass(frozen=True)
class Fate:
    kind: vocabulary.Fate
    issue: Issue | None = None

    @property
    def wrong(self) -> bool:
        """Whether it fails the run."""
        return self.kind not in ("known", "expected")


def fates(view: View) -> dict[str, Fate]:
    """Returns fates by cell id; a cell that passes or is left out as expected has none."""
    verdict = view.verdict
    by_id = {record.id: Fate("known", issue) for record, issue in verdict.known}
    by_id.update({record.id: Fate("expected") for record in verdict.expected})
    by_id.update(
        {
            record.id: Fate("unexpectedly red", verdict.explained.get(record.id))
            for record in verdict.unexpected_red
        }
    )
    by_id.update({record.id: Fate("unexpected pass") for record in verdict.unexpected_pass})
    by_id.update({record.id: Fate("not fixed", issue) for record, issue in verdict.shim_failed})
    by_id.update(
        {
            green.record.id: Fate("unexpectedly green", green.issue)
            for green in verdict.unexpectedly_green
        }
    )
    return by_id
