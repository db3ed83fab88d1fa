"""`crosswarp diff A B`: the labels of two results and their differences, one group for each root cause."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from crosswarp.matrix.errors import UsageError
from crosswarp.matrix.facts import selection
from crosswarp.matrix.facts.issues import Issue
from crosswarp.matrix.results import baseline, comparison, packaged
from crosswarp.matrix.results.cause import RootCause, cause_of
from crosswarp.matrix.results.comparison import Pair
from crosswarp.matrix.results.record import Record, by_column
from crosswarp.matrix.results.store import Run, Store
from crosswarp.matrix.results.verdict import ByKernel, Verdict, judge
from crosswarp.matrix.results.vocabulary import WORST
from crosswarp.reports.findings import reproducers
from crosswarp.reports.findings.missing import unreached
from crosswarp.reports.findings.reused import Reused, reused

LATEST = "run"
_OF_REPRODUCERS = ("same", "regressed", "fixed", "changed-failure", "unknown")
HOW = (
    "Name a column (triton-3.2.0, of the latest run), a run (a number, or `run` for the latest), a column of a run "
    "(3:triton-3.2.0), or a baseline file."
)


@dataclass(frozen=True)
class Side:
    name: str
    records: Sequence[Record]
    # None: all of them.
    column: str | None = None
    # Columns that did not run all of their cells.
    unreached: frozenset[str] = frozenset()
    # The owner of the kernels, as far as a run says.
    whose: str = ""
    # The kernels that only show a known issue.
    reproducers: frozenset[str] = frozenset()
    # By column and item, the run that its cells were taken over from.
    sources: Mapping[tuple[str, str], int] = field(default_factory=dict)

    @property
    def reused(self) -> Reused:
        return reused(self.records, self.sources)

    @property
    def columns(self) -> list[str]:
        return list(dict.fromkeys(record.column for record in self.records))

    @property
    def title(self) -> str:
        return f"{self.column} of {self.name}" if self.column else self.name

    def of(self, column: str) -> Side:
        mine = [record for record in self.records if record.column == column]
        return replace(self, records=mine, column=column, unreached=self.unreached & {column})


@dataclass
class Group:
    """One root cause; for cells that never failed, one kernel."""

    outcome: str
    issue: Issue | None
    pairs: list[Pair] = field(default_factory=list)
    shims: list[str] = field(default_factory=list)
    fixed_cells: int = 0
    whose: str = ""

    @property
    def shown(self) -> Record:
        return _shown(self.pairs[0])

    @property
    def kernels(self) -> dict[str, int]:
        return dict(Counter(pair.record.kernel for pair in self.pairs))


@dataclass(frozen=True)
class Diff:
    before: Side
    after: Side
    pairs: Sequence[Pair]
    groups: Sequence[Group]

    def of(self, *outcomes: str) -> list[Group]:
        """The groups with one of these outcomes, in order."""
        return [group for group in self.groups if group.outcome in outcomes]

    @property
    def breaks(self) -> list[Group]:
        """One group for each cause by which a cell passed before and fails now."""
        return self.of("regressed")

    @cached_property
    def counts(self) -> dict[str, int]:
        """Cells by outcome; one that is several things is counted for each."""
        # By the whole comparison first: most cells are alike, and a run has tens of thousands.
        alike = Counter((pair.comparison.outcome, pair.comparison.also) for pair in self.pairs)
        tally: Counter[str] = Counter()
        for (outcome, also), cells in alike.items():
            for each in (outcome, *also):
                tally[each] += cells
        return {outcome: tally[outcome] for outcome in comparison.OUTCOMES if tally[outcome]}

    @property
    def notes(self) -> dict[str, int]:
        """Returns the reasons why cells could not be compared, with the number of cells."""
        return dict(Counter(pair.comparison.note for pair in self.pairs if pair.comparison.note))

    @property
    def worse(self) -> bool:
        return any(outcome in comparison.WORSE for outcome in self.counts)


def diff(before: Side, after: Side, issues: Sequence[Issue]) -> Diff:
    """Compares every cell of both sides and groups the differences by root cause.

    Raises:
        UsageError: the sides have no cell in common that ran on both.
    """
    before, after = _aligned(before, after)
    across = before.column != after.column
    pairs = comparison.pairs(
        before.records,
        after.records,
        across_columns=across,
        unreached=(before.unreached, after.unreached),
    )
    if not any(p.before and p.after and p.comparison.outcome != "unknown" for p in pairs):
        raise UsageError(
            f"{before.title} and {after.title} have no cell in common that ran on both sides. {HOW}"
        )
    # Equal cells need no cause, and mostly all of a kernel's are equal.
    differing = {pair.record.kernel for pair in pairs if pair.comparison.outcome != "same"}
    by_kernel = ByKernel(issues)
    verdicts = [
        judge((record for record in side.records if record.kernel in differing), by_kernel)
        for side in (before, after)
    ]
    reproducers = before.reproducers | after.reproducers
    return grouped(before, after, pairs, verdicts, reproducers if across else ())


def grouped(
    before: Side,
    after: Side,
    pairs: Sequence[Pair],
    verdicts: Sequence[Verdict] | Explained,
    reproducers: Collection[str],
) -> Diff:
    """Groups the differences by root cause. Kernels in `reproducers` count only as passing or failing, not by their
    resources: they show a known issue, and their speed does not matter. A cell that neither side has is left out."""
    counted = [
        pair
        for pair in pairs
        if pair.sides
        and (pair.comparison.outcome in _OF_REPRODUCERS or pair.record.kernel not in reproducers)
    ]
    return Diff(before, after, counted, groups(counted, verdicts, after.whose or before.whose))


def is_file(text: str) -> bool:
    """Whether it names a baseline, or a column of one, and no run."""
    name = text.partition(":")[0]
    return "/" in name or name.endswith(".json") or Path(text).is_file() or Path(name).is_file()


def side(text: str, store: Path) -> Side:
    """Returns the side that `text` names; `HOW` lists the possible texts."""
    path = Path(text)
    if path.is_file():
        return _of_baseline(path)
    name, _, column = text.partition(":")
    if column and Path(name).is_file():
        whole = _of_baseline(Path(name))
        return whole.of(_held(whole.name, whole.columns, column))
    if "/" in name or name.endswith(".json"):
        raise UsageError(
            f"{name}: there is no such baseline. Write one: crosswarp baseline write {name}"
        )
    with packaged.opened(store) as opened:
        if name != LATEST and not re.fullmatch("[0-9]{1,15}", name):
            if column:
                raise UsageError(f'"{text}": "{name}" is no run and no file. {HOW}')
            return _column_of_latest(opened, text)
        run = opened.run(None if name == LATEST else int(name))
        return _column_of_run(opened, run, column) if column else _of_run(opened, run)


def _of_baseline(path: Path) -> Side:
    records = baseline.read(path)
    return Side(path.name, records, reproducers=reproducers.among(r.kernel for r in records))


def _of_run(store: Store, run: Run, column: str | None = None) -> Side:
    """Returns a run as a side, or only its cells of one column."""
    records = store.records(run.id, column)
    planned = _planned(run) if column is None else ()
    short = unreached(store.planned(run.id), by_column(records, planned))
    shows = reproducers.among(store.kernels(run.id), run.plan)
    return Side(
        _name(run), records, column, frozenset(short), run.described.whose, shows, store.reused_items(run.id)
    )  # fmt: skip


def _name(run: Run) -> str:
    return run.name if run.status == "finished" else f"{run.name} ({run.status})"


def _column_of_run(store: Store, run: Run, column: str) -> Side:
    return _of_run(store, run, _held(_name(run), store.columns(run.id), column))


def _column_of_latest(store: Store, column: str) -> Side:
    run = store.run()
    columns = store.columns(run.id)
    if selection.column_id(column, columns) not in columns:
        earlier = [
            stored.id
            for stored in store.runs()
            if selection.column_id(column, _planned(stored)) in _planned(stored)
            and stored.id != run.id
        ]
        if earlier:
            raise UsageError(
                f'the latest run, {run.id}, has no column "{column}". Run {earlier[0]} has: write {earlier[0]}:{column}'
            )
    return _column_of_run(store, run, column)


def _planned(run: Run) -> Sequence[str]:
    columns = run.described.columns
    return columns if isinstance(columns, (list, tuple)) else ()


def _held(name: str, columns: Sequence[str], column: str) -> str:
    """Returns the id of the requested column, among those in `name`."""
    wanted = selection.column_id(column, columns)
    if wanted not in columns:
        holds = ", ".join(selection.by_likeness(column, columns)) or "nothing"
        raise UsageError(f'{name} has no column "{column}"; it holds {holds}. {HOW}')
    return wanted


def _aligned(before: Side, after: Side) -> tuple[Side, Side]:
    """Returns both sides for one column, or both for all: against a single column, the other side gives its match."""
    if (before.column is None) == (after.column is None):
        return before, after
    part, whole = (before, after) if before.column else (after, before)
    assert part.column is not None
    if part.column in whole.columns:
        chosen = whole.of(part.column)
    elif len(whole.columns) == 1:
        chosen = whole.of(whole.columns[0])
    else:
        raise UsageError(
            f"{part.title} against all of {whole.name}: which of {', '.join(whole.columns) or 'nothing'}? {HOW}"
        )
    return (part, chosen) if before.column else (chosen, part)


class Explained:
    """The verdicts on failures. Share one instance among several diffs of one verdict."""

    def __init__(self, verdicts: Sequence[Verdict]) -> None:
        # Keeps them alive: records are looked up by identity.
        self._verdicts = verdicts
        self._known = {
            id(record): issue
            for verdict in verdicts
            for record, issue in [*verdict.known, *verdict.shim_failed]
        }
        # For a user's own kernels: the issue by which one fails, and the shims with which it passes.
        self._theirs = {
            name: issue for verdict in verdicts for name, issue in verdict.explained.items()
        }
        self._fixed = {name: shims for verdict in verdicts for name, shims in verdict.fixed.items()}
        for verdict in verdicts:
            self._fixed |= {change.bare.id: tuple(change.shims) for change in verdict.fixes}

    def issue(self, record: Record) -> Issue | None:
        """The issue that explains a record."""
        known = self._known.get(id(record))
        return self._theirs.get(record.id) if known is None and self._theirs else known

    def fixed(self, record: Record) -> tuple[str, ...] | None:
        """The shims with which a failure passes; None where it was not seen to pass."""
        return self._fixed.get(record.id) if record.red else None


def groups(
    pairs: Sequence[Pair], verdicts: Sequence[Verdict] | Explained, of: str = ""
) -> list[Group]:
    """Each root cause once. `verdicts` judge the very records of the pairs."""
    explained = verdicts if isinstance(verdicts, Explained) else Explained(verdicts)
    by_cause: dict[tuple[str, RootCause | None], Group] = {}
    different = [pair for pair in pairs if pair.comparison.outcome != "same"]
    for pair, outcome in [
        (changed, name) for changed in different for name in changed.comparison.outcomes
    ]:
        record = _shown(pair)
        issue = explained.issue(record)
        key: tuple[str, RootCause | None] = (outcome, _cause(pair, record, issue))
        group = by_cause.setdefault(key, Group(outcome, issue, whose=of))
        group.pairs.append(pair)
        shims = explained.fixed(record)
        if shims is not None:
            group.fixed_cells += 1
            group.shims += [shim for shim in shims if shim not in group.shims]
    order: dict[str, int] = {outcome: number for number, outcome in enumerate(comparison.OUTCOMES)}
    return sorted(
        by_cause.values(),
        key=lambda group: (
            order[group.outcome],
            group.issue is not None,
            WORST.index(group.shown.outcome),
            min(group.kernels),
        ),  # fmt: skip
    )


def _shown(pair: Pair) -> Record:
    """Returns the record whose cause is shown: the one that fails now, or else failed before."""
    if pair.comparison.outcome == "fixed" and pair.before:
        return pair.before
    return pair.record


def _cause(pair: Pair, record: Record, issue: Issue | None) -> RootCause | None:
    if pair.comparison.outcome in ("gone", "unknown"):
        return None
    if issue or record.red:
        return cause_of(record, issue.id if issue else "")
    # A new pass has no cause; of a kernel that grew heavier only its name is known.
    return None if pair.comparison.outcome == "new" else RootCause(kernel=record.kernel)
