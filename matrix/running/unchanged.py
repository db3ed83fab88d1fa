"""Cells that need not run again, because all that decides on them is as it was in a run of the store.

That is their key, which the kind of work makes (`Work.keys`). Outcomes that happen by chance are never reused: crashes
and timeouts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from crosswarp.matrix.cell import protocol
from crosswarp.matrix.results.described import Described
from crosswarp.matrix.results.record import Record
from crosswarp.matrix.results.store import Store
from crosswarp.matrix.running.plan import Coordinate, Plan

CHANCE = ("crash", "timeout", "not-run")


@dataclass
class Taken:
    """The results that one column reuses.

    Attributes:
        cells: the records, and the run in which each of them ran.
        again: the items that run again, because their outcome may have been chance.
        whole: a run that had nothing else to run in the same lanes, so that only these are left.
    """

    cells: list[tuple[Record, int]] = field(default_factory=list)
    again: list[str] = field(default_factory=list)
    whole: int | None = None
    # How many cases each lane of that run has.
    planned: dict[str, int] = field(default_factory=dict)

    @property
    def again_by_lane(self) -> dict[str, list[str]]:
        by_lane: dict[str, list[str]] = {}
        for item in sorted(self.again):
            by_lane.setdefault(lane_of(item), []).append(item)
        return by_lane

    @property
    def items(self) -> list[str]:
        return sorted({cell.item for cell, _ in self.cells})


def message(column: str, sources: Mapping[str, int]) -> str:
    """A message about the reused items and the runs that they are from; empty where there are none."""
    if not sources:
        return ""
    of = ", ".join(map(str, sorted(set(sources.values()))))
    return (
        f"{column}: {len(sources)} cases are unchanged since run {of} and are taken from there; "
        "--fresh runs them all."
    )


def of_share(key: str, shard: tuple[int, int] | None) -> str:
    """The key of a coordinate for a run that has only a shard of the cases."""
    return f"{key} {shard[0]}/{shard[1]}" if shard else key


def of_whole(key: str) -> str:
    """The key of the coordinate as a whole, whichever shard of it a run had."""
    return key.partition(" ")[0]


def take(
    store: Store, plan: Plan, column: str, known: Mapping[Coordinate, str], *, crashes: bool = False
) -> Taken:
    """The stored results for the cases that `plan` has on a column, from the newest run of each coordinate.

    Args:
        known: the current keys.
        crashes: whether crashes and timeouts are reused as well.
    """
    # A shard may reuse a run of the same shard and one of the whole.
    runs = store.with_keys(
        column,
        {
            of_share(key, shard): tuple(names)
            for names, key in known.items()
            for shard in {None, plan.shard}
        },
    )
    wanted: dict[int, set[Coordinate]] = {}
    for coordinate, run in runs.items():
        wanted.setdefault(run, set()).add(Coordinate(*coordinate))
    earlier = Taken()
    for run, coordinates in sorted(wanted.items()):
        sources = store.reused_items(run)
        by_item: dict[str, list[Record]] = {}
        for cell in store.records(run, column):
            if Coordinate.of(cell) in coordinates:
                by_item.setdefault(cell.item, []).append(cell)
        for item, cells in by_item.items():
            asked = plan.has(cells[0])
            # Its cell as a whole comes last.
            if not asked or not any(not cell.config for cell in cells):
                continue
            if crashes or not any(cell.outcome in CHANCE for cell in cells):
                source = sources.get((column, item), run)
                earlier.cells += [(replace(cell, issue=""), source) for cell in cells]
            else:
                earlier.again.append(item)
    if len(wanted) == 1 and runs.keys() == {tuple(names) for names in known}:
        (run,) = wanted
        if _nothing_left(store, plan, column, run, earlier):
            earlier.whole = run
            planned = store.planned(run)
            earlier.planned = {lane: planned[column, lane] for lane in plan.lanes}
    return earlier


def _nothing_left(store: Store, plan: Plan, column: str, run: int, earlier: Taken) -> bool:
    """Whether the lanes of that run had planned only the reused items, and those that can run again by name."""
    then, now = store.run(run).described, Described(plan.describe())
    # Their cases must be listed first; only the suite knows those of a shard.
    if earlier.again and (plan.shard or any(item.endswith(_NO_CASES) for item in earlier.again)):
        return False
    if (then.selection, then.shard) != (now.selection, now.shard):
        return False
    known = [*earlier.items, *earlier.again]
    count = {lane: sum(lane_of(item) == lane for item in known) for lane in plan.lanes}
    planned = store.planned(run)
    return all(planned.get((column, lane)) == number for lane, number in count.items())


def lane_of(item: str) -> str:
    return item.split("/", 2)[1]


# The ends of items that stand for a module whose cases could not be listed.
_NO_CASES = ("/*", "/import")


def whole_column(
    store: Store, run: int, column: str, again: Iterable[str] = ()
) -> Iterator[protocol.Event]:
    """The events beside the cells of a column's suite in `run`, without the lanes in which it has to run again."""
    versions, left = store.sessions(run), set(map(lane_of, again))
    for (name, lane), planned in store.planned(run).items():
        if name == column and lane not in left:
            yield protocol.Session(lane, planned, versions[name, lane])
    for (of_column, target), (supported, message) in store.targets(run).items():
        if of_column == column:
            yield protocol.Target(target, supported, message)
