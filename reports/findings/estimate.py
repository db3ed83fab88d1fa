"""The plan of a run in numbers: its columns, cells, disk and time, before anything is built.

A column is estimated from the store's runs of the same suite; without any, from the defaults of costs.toml, which hold
for crosswarp's own suite. The cases of another suite are unknown before its first run.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from crosswarp import kernels
from crosswarp.matrix.environments.environment import Builder
from crosswarp.matrix.environments.uvtool import Uv
from crosswarp.matrix.facts import repeats
from crosswarp.matrix.facts.columns import Column
from crosswarp.matrix.facts.costs import Costs
from crosswarp.matrix.results.described import Described
from crosswarp.matrix.results.record import Record
from crosswarp.matrix.results.store import Run, Store
from crosswarp.matrix.running.plan import Plan
from crosswarp.matrix.running.progress import Expected


@dataclass(frozen=True)
class OfColumn:
    column: str
    # None: not known before it ran once.
    cells: int | None
    # For the whole column, with the jobs of the plan.
    seconds: float | None
    # Whether its environment is there.
    built: bool
    # The run that they are of; None where they are defaults.
    run: int | None = None
    # By lane; none where a lane's cases are not known.
    lanes: Mapping[str, Expected] = field(default_factory=dict)


@dataclass(frozen=True)
class Estimate:
    plan: Plan
    columns: tuple[OfColumn, ...]
    # The megabytes that the environments need, and those free on the disk.
    megabytes: int
    free_megabytes: int

    @property
    def cells(self) -> int | None:
        return _sum([column.cells for column in self.columns])

    @property
    def seconds(self) -> float | None:
        return _sum([column.seconds for column in self.columns])


def estimate(
    plan: Plan,
    store: Store | None,
    costs: Costs,
    built: Mapping[str, bool],
    free_megabytes: int,
    one_at_a_time: bool = False,
) -> Estimate:
    seen = _Seen(plan, store) if store else None
    columns = tuple(
        _of_column(plan, column.id, seen, costs, built.get(column.id, False))
        for column in plan.columns
    )
    needed = sum(not column.built for column in columns)
    each = costs.environment.megabytes
    return Estimate(
        plan, columns, each * (min(needed, 1) if one_at_a_time else needed), free_megabytes
    )


class _Seen:
    """The records of the newest run that has each column, of the same suite."""

    def __init__(self, plan: Plan, store: Store) -> None:
        self._plan = plan
        self._store = store
        self._runs = [run for run in store.runs() if _same_suite(run, plan)]
        self._records: dict[int, list[Record]] = {}

    def of(self, column: str) -> tuple[int, list[Record]] | None:
        for run in self._runs:
            planned = run.described.columns
            if not isinstance(planned, (list, tuple)) or column not in planned:
                continue
            if run.id not in self._records:
                self._records[run.id] = self._store.records(run.id)
            records = [r for r in self._records[run.id] if r.column == column and self._chosen(r)]
            if any(record.ran for record in records):
                return run.id, records
        return None

    def _chosen(self, record: Record) -> bool:
        plan = self._plan
        return (
            record.lane in plan.lanes
            and record.mode in plan.modes
            and record.target in plan.targets_of(record.lane)
            and any(fnmatchcase(record.kernel, glob) for glob in plan.kernels)
            and plan.has(record)
        )


def _same_suite(run: Run, plan: Plan) -> bool:
    mine = Described(plan.describe())
    return (run.described.library, run.described.suite) == (mine.library, mine.suite)


def _of_column(plan: Plan, column: str, seen: _Seen | None, costs: Costs, built: bool) -> OfColumn:
    of_column = seen.of(column) if seen else None
    run, records = of_column or (None, [])
    cells: dict[tuple[str, str], list[Record]] = defaultdict(list)
    for record in records:
        cells[record.lane, record.target].append(record)
    only_distinct = bool(Described(plan.describe()).selected("left_out"))
    # The weights of those that are no repeats know the release.
    factor = 1.0 if only_distinct else costs.releases.factor(column)
    count, known = 0.0, True
    share = 1 / plan.shard[1] if plan.shard else 1
    lanes: dict[str, Expected] = {}
    for lane in plan.lanes:
        items, seconds = 0.0, 0.0
        for target in plan.targets_of(lane):
            if mine := cells.get((lane, target)):
                count += len(mine)
                items += len({record.item for record in mine})
                seconds += sum(record.seconds for record in mine)
                continue
            # A lane or target that the store has not seen on this column.
            cost = getattr(costs.lanes, lane)
            cases = _cases(plan, cost.cases, repeats.place_of(lane, target))
            known = known and cases is not None
            here = (cases or 0) * len(plan.modes)
            count += here
            items += here
            seconds += here * factor * (cost.seconds_distinct if only_distinct else cost.seconds)
        if items:
            mine = [
                record for (of, _), records in cells.items() if of == lane for record in records
            ]
            factor_of_lane, weights = 1.0, _weights(mine)
            if not mine and only_distinct:
                factor_of_lane, weights = repeats.weights(column, lane)
            lanes[lane] = Expected(items * share, seconds / items * factor_of_lane, weights)
    if not known:
        return OfColumn(column, None, None, built, run)
    whole = sum(of_lane.cases * of_lane.seconds for of_lane in lanes.values())
    return OfColumn(column, round(count * share), whole / plan.jobs, built, run, lanes)


def _weights(records: Sequence[Record]) -> Mapping[str, float]:
    """By target and kernel, the seconds of a case as a multiple of the mean."""
    seconds: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for record in records:
        # The seconds of a case have those of its configurations in them.
        if record.config:
            continue
        seconds[f"{record.target}/{record.kernel}"][record.item] += record.seconds
    whole = [each for by_item in seconds.values() for each in by_item.values()]
    if not sum(whole):
        return {}
    mean = sum(whole) / len(whole)
    return {
        place: sum(by_item.values()) / len(by_item) / mean for place, by_item in seconds.items()
    }


def _cases(plan: Plan, cases: int, place: str) -> float | None:
    described = Described(plan.describe())
    if described.suite:
        return None
    if described.selected("left_out"):
        # Of a run that names nothing, so it has all kernels.
        return cases - sum(len(places.get(place, ())) for places in repeats.load().values())
    chosen = [
        name for name in kernels.NAMES if any(fnmatchcase(name, glob) for glob in plan.kernels)
    ]
    return cases * len(chosen) / len(kernels.NAMES)


def environments(work: Path, columns: Sequence[Column]) -> dict[str, bool]:
    """Which columns have an environment in the folder of `--work` that a run would use as it is."""
    builder = Builder(work / "envs", columns, Uv())
    return {column.id: builder.is_ready(column) for column in columns}


def _sum(values: Sequence[float | int | None]):
    return None if any(value is None for value in values) else sum(filter(None, values))
