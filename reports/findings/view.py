"""A stored run, read once: what every report is a function of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property

from crosswarp.matrix import versions
from crosswarp.matrix.facts.issues import Issue
from crosswarp.matrix.results import windows
from crosswarp.matrix.results.record import Record
from crosswarp.matrix.results.store import Environment, Note, Run, Store
from crosswarp.matrix.results.verdict import Healed, Verdict, judge, triton_of
from crosswarp.matrix.results.windows import Wrong


@dataclass(frozen=True)
class View:
    run: Run
    records: Sequence[Record]
    environments: Sequence[Environment]
    notes: Sequence[Note]
    verdict: Verdict
    unsupported_targets: Sequence[tuple[str, str, str]] = ()
    # How many cases a column's suite was to run, by column and lane.
    planned: Mapping[tuple[str, str], int] = field(default_factory=dict)
    wrong_windows: Sequence[Wrong] = ()

    @cached_property
    def columns(self) -> list[str]:
        """In the order of the plan; what only the records name comes last."""
        ordered = [*self.run.plan.get("columns", ()), *(record.column for record in self.records)]
        return list(dict.fromkeys(ordered))

    def label(self, column: str) -> str:
        for environment in self.environments:
            if environment.column == column:
                return environment.label
        return column


@dataclass
class Regression:
    """One root cause: an issue, or without one an outcome with its fingerprint."""

    kernel: str
    outcome: str
    fingerprint: str
    issue: Issue | None
    first_column: str
    columns: list[str] = field(default_factory=list)
    targets: list[str] = field(default_factory=list)
    configs: list[str] = field(default_factory=list)
    lanes: list[str] = field(default_factory=list)
    shims: list[str] = field(default_factory=list)
    cells: int = 0
    healed: int = 0


def day(moment: str) -> date | None:
    """The date of a moment that a run began or ended; a store that a stranger wrote may hold anything in its place."""
    try:
        return date.fromisoformat(moment[:10])
    except ValueError:
        return None


def view(store: Store, issues: Sequence[Issue], run: int | None = None) -> View:
    one = store.run(run)
    records = store.records(one.id)
    verdict = judge(records, issues)
    return View(
        run=one,
        records=records,
        environments=store.environments(one.id),
        notes=store.notes(one.id),
        verdict=verdict,
        unsupported_targets=store.unsupported_targets(one.id),
        planned=store.planned(one.id),
        wrong_windows=windows.wrong(records, verdict, issues),
    )


def regressions(view: View) -> list[Regression]:
    """Each root cause once, known issues first, with the oldest column that shows it."""
    explained = {
        record.id: issue for record, issue in [*view.verdict.known, *view.verdict.shim_failed]
    }
    healed: Mapping[str, Healed] = {one.bare.id: one for one in view.verdict.healed}
    order = {column: number for number, column in enumerate(view.columns)}
    red = [record for record in view.records if record.red and record.mode == "bare"]
    red.sort(
        key=lambda record: (
            versions.sort_key(triton_of(record)),
            order[record.column],
        )
    )
    groups: dict[tuple[str, ...], Regression] = {}
    for record in red:
        issue = explained.get(record.id)
        key = (
            (record.kernel, "issue", issue.id)
            if issue
            else (record.kernel, record.outcome, record.fingerprint)
        )
        group = groups.get(key)
        if group is None:
            group = groups[key] = Regression(
                record.kernel, record.outcome, record.fingerprint, issue, record.column
            )
        group.cells += 1
        for values, value in (
            (group.columns, record.column),
            (group.targets, record.target),
            (group.configs, record.config),
            (group.lanes, record.lane),
        ):
            if value and value not in values:
                values.append(value)
        if record.id in healed:
            group.healed += 1
            group.shims += [shim for shim in healed[record.id].shims if shim not in group.shims]
    return sorted(groups.values(), key=lambda group: (group.issue is None, group.kernel))
