"""A stored run, read once: the input of every report.

Look-ups that several reports need are grouped here, once: by column, by kernel, by place.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property

from crosswarp.matrix import versions
from crosswarp.matrix.facts.issues import Issue
from crosswarp.matrix.results import fault, owned, windows
from crosswarp.matrix.results.cause import RootCause, cause_of
from crosswarp.matrix.results.record import Record, by_column
from crosswarp.matrix.results.store import Environment, Note, Run, Store
from crosswarp.matrix.results.verdict import ByKernel, Fix, Verdict, triton_of
from crosswarp.matrix.results.windows import Wrong
from crosswarp.matrix.versions import Version
from crosswarp.reports.findings import missing, reproducers
from crosswarp.reports.findings.marks import Mark, Place, marks
from crosswarp.reports.findings.reused import Reused, reused


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
    # By column and item, the run that its cells were taken over from.
    sources: Mapping[tuple[str, str], int] = field(default_factory=dict)

    @cached_property
    def reused(self) -> Reused:
        return reused(self.records, self.sources)

    @cached_property
    def columns(self) -> list[str]:
        """In the order of the plan; columns that only the records name come last."""
        ordered = [*self.run.described.columns, *(record.column for record in self.records)]
        return list(dict.fromkeys(ordered))

    @cached_property
    def _labels(self) -> Mapping[str, str]:
        # A column's first environment names it.
        return {
            environment.column: environment.label for environment in reversed(self.environments)
        }

    def label(self, column: str) -> str:
        return self._labels.get(column, column)

    @cached_property
    def by_column(self) -> Mapping[str, Sequence[Record]]:
        """The records of each column, in the order of `columns`; none for one of which nothing was recorded."""
        return by_column(self.records, self.columns)

    @cached_property
    def missing(self) -> Mapping[str, list[str]]:
        """For each column the sentences about planned results that it lacks."""
        return {
            column: missing.of_column(self.planned, column, records)
            for column, records in self.by_column.items()
        }

    @cached_property
    def by_kernel(self) -> Mapping[str, Sequence[Record]]:
        """The records of each kernel, by name in the order of the alphabet."""
        by_kernel: dict[str, list[Record]] = defaultdict(list)
        for record in self.records:
            by_kernel[record.kernel].append(record)
        return {kernel: by_kernel[kernel] for kernel in sorted(by_kernel)}

    @cached_property
    def reproducers(self) -> frozenset[str]:
        """The kernels that only show a known issue, in addition to a suite."""
        return reproducers.among(self.by_kernel, self.run.plan)

    @cached_property
    def by_place(self) -> Mapping[tuple[str, str], Mapping[tuple[str, str], Sequence[Record]]]:
        """The records of each lane and target, in the order in which they came, by kernel and column."""
        by_place: dict[tuple[str, str], dict[tuple[str, str], list[Record]]] = {}
        for record in self.records:
            place = by_place.setdefault((record.lane, record.target), defaultdict(list))
            place[record.kernel, record.column].append(record)
        return {place: dict(cells) for place, cells in by_place.items()}

    @cached_property
    def tallies(self) -> Mapping[tuple[str, str, str, str], Counter[str]]:
        """How often each outcome occurred, by column, lane, target and mode."""
        tallies: dict[tuple[str, str, str, str], Counter[str]] = defaultdict(Counter)
        for record in self.records:
            place = (record.column, record.lane, record.target, record.mode)
            tallies[place][record.outcome] += 1
        return dict(tallies)

    @cached_property
    def releases(self) -> frozenset[Version]:
        """The Triton releases of the records; a nightly counts as its release."""
        met = {triton_of(record) for record in self.records}
        return frozenset(
            release for version in met if version and (release := versions.base(version))
        )

    @cached_property
    def issue_of(self) -> Mapping[str, Issue]:
        """The issue that explains a failing cell, by the cell's id."""
        return {
            record.id: issue for record, issue in [*self.verdict.known, *self.verdict.shim_failed]
        } | self.verdict.explained

    def fault(self, record: Record) -> fault.Fault:
        """Whose fault a failing cell of somebody's kernels is, and the next step."""
        fixed = self.fixes.get(record.id)
        bare = f"{record.target}/{record.lane}/bare/{record.kernel}/{record.case}"
        return fault.of(
            record,
            self.issue_of.get(record.id),
            self.verdict.alike.get(record.id),
            fixed.shims if fixed else self.verdict.fixed.get(record.id),
            record.mode == "shimmed" and (record.column, bare, record.config) in self._passing,
        )

    @cached_property
    def _passing(self) -> frozenset[tuple[str, str, str]]:
        return frozenset(
            (record.column, record.item, record.config)
            for record in self.records
            if record.outcome == "pass"
        )

    @cached_property
    def fixes(self) -> Mapping[str, Fix]:
        """Fixes by the id of the cell without compat."""
        return {pair.bare.id: pair for pair in self.verdict.fixes}

    @cached_property
    def marks(self) -> Mapping[Place, Mark]:
        return marks(self.records, self.verdict)

    @cached_property
    def regressions(self) -> Sequence[Regression]:
        return _regressions(self)


@dataclass
class Regression:
    """One root cause on one kernel."""

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
    fixed_cells: int = 0


def day(moment: str) -> date | None:
    """Returns the date of a run's start or end; None if invalid, since another person's store may contain anything."""
    try:
        return date.fromisoformat(moment[:10])
    except ValueError:
        return None


def view(
    store: Store, issues: Sequence[Issue] | ByKernel, run: int | None = None, brief: bool = False
) -> View:
    """A run (the latest, without a number) and the verdict on it; `brief` as of `Store.records`."""
    stored = store.run(run)
    issues = ByKernel.of(issues)
    records = store.records(stored.id, brief=brief)
    verdict = owned.judge(records, issues, stored.plan)
    return View(
        run=stored,
        records=records,
        environments=store.environments(stored.id),
        notes=store.notes(stored.id),
        verdict=verdict,
        unsupported_targets=store.unsupported_targets(stored.id),
        planned=store.planned(stored.id),
        # Failures of another suite's kernels do not show where an issue begins and ends.
        wrong_windows=() if verdict.theirs else windows.wrong(records, verdict, issues),
        sources=store.reused_items(stored.id),
    )


def _regressions(view: View) -> list[Regression]:
    """Each root cause once a kernel, known issues first, with the oldest column that shows it."""
    explained, fixed = view.issue_of, view.fixes
    order = {column: number for number, column in enumerate(view.columns)}
    red = [record for record in view.records if record.red and record.mode == "bare"]
    red.sort(
        key=lambda record: (
            versions.sort_key(triton_of(record)),
            order[record.column],
        )
    )
    groups: dict[tuple[str, RootCause], Regression] = {}
    for record in red:
        issue = explained.get(record.id)
        key = (record.kernel, cause_of(record, issue.id if issue else ""))
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
        if record.id in fixed:
            group.fixed_cells += 1
            group.shims += [shim for shim in fixed[record.id].shims if shim not in group.shims]
    return sorted(groups.values(), key=lambda group: (group.issue is None, group.kernel))
