"""The model of every page: a view whose columns are oldest first, each compared with the ones before it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from crosswarp.matrix import versions
from crosswarp.matrix.facts.issues import Issue
from crosswarp.matrix.results.comparison import HEAVIER
from crosswarp.matrix.results.record import LANES, MODES, Record
from crosswarp.matrix.results.vocabulary import WORST
from crosswarp.reports.findings import upgrades
from crosswarp.reports.findings.diff import Diff, Group
from crosswarp.reports.findings.view import View
from crosswarp.reports.page.text import slugs
from crosswarp.reports.text import again

_MODES = {mode: number for number, mode in enumerate(MODES)}
_BITS: Mapping[str, int] = {outcome: 1 << number for number, outcome in enumerate(WORST)}


@dataclass(frozen=True)
class Column:
    id: str
    slug: str
    label: str
    # As measured, else as the column promises; empty if unknown.
    triton: str
    torch: str

    @property
    def short(self) -> str:
        """`3.2.0` for triton-3.2.0: the part in which a table's columns differ."""
        return versions.split_id(self.id)[0].removeprefix("triton-")


@dataclass(frozen=True)
class Kernel:
    name: str
    slug: str
    # Whether it is one of ours that do nothing but show a known issue.
    shows_issue: bool


# Lane, target, kernel and column: a square of a grid.
Place = tuple[str, str, str, str]


def place_of(record: Record) -> Place:
    return (record.lane, record.target, record.kernel, record.column)


class Model:
    def __init__(self, view: View, issues: Sequence[Issue]) -> None:
        self.view = view
        self.issues = issues

    @cached_property
    def columns(self) -> list[Column]:
        """Oldest Triton first, so that the column before is the release before."""
        listed = self.view.columns
        names = slugs(listed)
        environments = {
            environment.column: environment.versions for environment in self.view.environments
        }

        def column(id: str) -> Column:
            measured = next(iter(self.view.by_column[id]), None)
            installed = {**environments.get(id, {}), **(measured.versions if measured else {})}
            triton = installed.get("triton") or versions.of_column(id) or ""
            return Column(
                id, names[id], self.view.label(id), str(triton), str(installed.get("torch") or "")
            )

        def age(column: Column) -> tuple:
            return (*versions.sort_key(column.triton), listed.index(column.id))

        return sorted(map(column, listed), key=age)

    @cached_property
    def kernels(self) -> list[Kernel]:
        """The suite, then the small ones that each show an issue; both by name."""
        names = [name for name in self.view.by_kernel if name != "*"]
        shows = self.view.reproducers
        kernels = [Kernel(name, slug, name in shows) for name, slug in slugs(names).items()]
        return sorted(kernels, key=lambda kernel: (kernel.shows_issue, kernel.name))

    @cached_property
    def kernel_slugs(self) -> Mapping[str, str]:
        return {kernel.name: kernel.slug for kernel in self.kernels}

    @cached_property
    def grids(self) -> list[tuple[str, str]]:
        """Lane and target, in the order of the plan."""
        planned = list(self.view.run.described.targets)

        def order(grid: tuple[str, str]) -> tuple:
            lane, target = grid
            place = planned.index(target) if target in planned else len(planned)
            return (LANES.index(lane) if lane in LANES else len(LANES), place, target)

        places = {(lane, target): None for _, lane, target, _ in self.view.tallies}
        return sorted(places, key=order)

    @cached_property
    def outcomes(self) -> Mapping[Place, Sequence[int]]:
        """The outcomes of each place, without and with compat: a bit for each, the worst the lowest."""
        outcomes: dict[Place, list[int]] = defaultdict(lambda: [0, 0])
        for record in self.view.records:
            outcomes[place_of(record)][_MODES[record.mode]] |= _BITS[record.outcome]
        return dict(outcomes)

    @cached_property
    def upgrades(self) -> Mapping[tuple[str, str], Diff]:
        """Compares each column with every older one, among those that ran."""
        ran = [
            column.id
            for column in self.columns
            if any(record.outcome != "not-run" for record in self.view.by_column[column.id])
        ]
        shared = upgrades.Upgrades(self.view)
        return {
            (before, after): shared.upgrade(before, after)
            for number, after in enumerate(ran)
            for before in ran[:number]
        }

    def before(self, column: str) -> Column | None:
        """Returns the column before this one, among those that ran."""
        older = [earlier for earlier in self.columns if (earlier.id, column) in self.upgrades]
        return older[-1] if older else None

    @cached_property
    def heavier(self) -> Mapping[str, list[tuple[Column, Column, Group]]]:
        """For each kernel the columns on which it grew heavier, each with the column before and the cause."""
        by_kernel: dict[str, list[tuple[Column, Column, Group]]] = defaultdict(list)
        for after in self.columns:
            before = self.before(after.id)
            if before is None:
                continue
            for group in self.upgrades[before.id, after.id].of(*HEAVIER):
                for kernel in group.kernels:
                    by_kernel[kernel].append((before, after, group))
        return by_kernel

    @cached_property
    def explained(self) -> Mapping[str, list[Record]]:
        """The failing cells of each issue, by its id."""
        by_id: dict[str, list[Record]] = {issue.id: [] for issue in self.issues}
        for record, issue in [*self.view.verdict.known, *self.view.verdict.shim_failed]:
            by_id[issue.id].append(record)
        # For a user's own kernels a known issue explains a failure but does not excuse it.
        for record in self.view.verdict.unexpected_red:
            if record.id in self.view.verdict.explained:
                by_id[self.view.verdict.explained[record.id].id].append(record)
        return by_id

    @cached_property
    def fixed_cells(self) -> Counter[str]:
        """How many failing cells of each issue pass with compat, by the issue's id."""
        return Counter(fixed.issue.id for fixed in self.view.verdict.fixes)

    @cached_property
    def issue_slugs(self) -> Mapping[str, str]:
        return slugs(issue.id for issue in self.issues)

    def command(
        self, kernel: str, column: str = "all", lane: str = "", targets: Sequence[str] = ()
    ) -> str:
        """Returns the command that runs the cells of a kernel again."""
        return again.command(self.view.run, kernel, column, lane, targets)
