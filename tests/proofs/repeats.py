"""Which cells of the suite repeat a cheaper one: matrix/facts/repeats.json, from the baseline and stores of runs.

Run by hand, on the host, after baseline/all.json was written anew:

    python tests/proofs/repeats.py STORE.. [--others STORE..]

The seconds are those of each store's newest run. The estimate of a run's time also weighs kernels that the baseline
lacks, by the newest run of each of the others.

In each lane and for each maker of GPUs, a kernel shows on a release, without or with compat: an outcome, and the known
issue of a failure. It also shows the outcomes of the case that proves an issue. The suite as a whole shows on a
release which shims act. A kernel that passes on all GPUs of a maker, wherever it passes on those of another, is left
out for the first in that lane. Cells are chosen until all else is shown that the baseline has, those first that show
most for their seconds; all others are repeats.
"""

from __future__ import annotations

import argparse
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import mean
from typing import NamedTuple

from crosswarp.matrix.facts import datafile, issues, repeats
from crosswarp.matrix.results import baseline, verdict
from crosswarp.matrix.results.record import Record
from crosswarp.matrix.results.store import Store

ROOT = Path(__file__).resolve().parents[2]
BASELINE = ROOT / "baseline" / "all.json"
# The lane emulate compiles what it executes, so the lane compile gets that for nothing, and chooses after it.
LANES = ("interpret", "emulate", "compile")
# How many texts an outcome with its place has.
OUTCOME = 6
# Of each cell, for the process that it is run in.
LEAST_SECONDS = 0.15


# An outcome with its place, a shim and a release that it acts on, or a result of the case that proves an issue.
Fact = tuple[str, ...]


class Item(NamedTuple):
    """The cells of a case in a lane on a target, in both modes."""

    kernel: str
    lane: str
    target: str
    case: str

    @classmethod
    def of(cls, record: Record) -> Item:
        return cls(record.kernel, record.lane, record.target, record.case)

    def in_lane(self, lane: str) -> Item:
        return self._replace(lane=lane)


class Shown(NamedTuple):
    """By item, all that it shows; nothing where no release could run it."""

    of_kernel: dict[Item, set[Fact]]
    of_suite: dict[Item, set[Fact]]


def shown(records: Iterable[Record]) -> Shown:
    known = verdict.ByKernel(issues.load())
    of_kernel: dict[Item, set[Fact]] = defaultdict(set)
    of_suite: dict[Item, set[Fact]] = defaultdict(set)
    for record in records:
        mine = of_kernel[Item.of(record)]
        if not record.ran:
            continue
        issue = verdict.classify(record, known, verdict.triton_of(record))
        maker = record.target[:2]
        mine.add(
            (
                record.lane,
                maker,
                record.column,
                record.mode,
                record.outcome,
                issue.id if issue else "",
            )
        )
        of_suite[Item.of(record)].update((shim, record.column) for shim in record.shims)
        # Where the case of an issue fails, and where it passes.
        mine.update((one.id, record.column, record.outcome) for one in known.proved_by(record))
    return Shown(of_kernel, of_suite)


def without_neighbours(shows: Mapping[Item, set[Fact]]) -> dict[Item, set[Fact]]:
    """`shows` without outcomes on GPUs of a maker, where a kernel always passes in a lane as it does on another's."""
    of_makers: dict[tuple[str, str], dict[str, set[Fact]]] = defaultdict(lambda: defaultdict(set))
    for item, facts in shows.items():
        outcomes = of_makers[item.kernel, item.lane][item.target[:2]]
        outcomes |= {(column, *rest) for _, _, column, *rest in _outcomes(facts)}
    dropped = {
        (kernel, lane, maker)
        for (kernel, lane), by_maker in of_makers.items()
        for maker, outcomes in by_maker.items()
        if all(outcome == "pass" for _, _, outcome, _ in outcomes)
        and any(
            outcomes < others or (outcomes == others and maker < other)
            for other, others in by_maker.items()
        )
    }
    return {
        item: facts - _outcomes(facts)
        if (item.kernel, item.lane, item.target[:2]) in dropped
        else facts
        for item, facts in shows.items()
    }


def _outcomes(facts: set[Fact]) -> set[Fact]:
    """Those of them that are outcomes with their places."""
    return {fact for fact in facts if len(fact) == OUTCOME}


def seconds(stores: Sequence[Path], items: Iterable[Item]) -> dict[Item, float]:
    """By item, its mean share of a run of a thousand seconds."""
    shares: Counter[Item] = Counter()
    for path in stores:
        with Store(path, read_only=True) as store:
            # The seconds of a case have those of its configurations in them.
            records = [record for record in store.records(store.run().id) if not record.config]
        whole = sum(record.seconds for record in records)
        for record in records:
            shares[Item.of(record)] += 1000 * record.seconds / whole / len(stores)
    return {item: shares[item] for item in items}


def chosen(shown: Shown, cost: Mapping[Item, float]) -> set[Item]:
    """The items that together show everything."""
    by_kernel: dict[str, list[Item]] = defaultdict(list)
    shows = without_neighbours(shown.of_kernel)
    for item in sorted(shows):
        by_kernel[item.kernel].append(item)
    kept: set[Item] = set()
    for items in by_kernel.values():
        mine: set[Item] = set()
        for lane in LANES:
            price = {item: _price(item, cost, mine) for item in items if item.lane == lane}
            done = _union(shows, mine)
            mine |= _least({item: shows[item] - done for item in price}, price)
        kept |= mine
    missing = _union(shown.of_suite, shown.of_suite) - _union(shown.of_suite, kept)
    more = {item: facts & missing for item, facts in shown.of_suite.items()}
    return kept | _least(more, {item: _price(item, cost, kept) for item in more})


def costs(
    kept: Iterable[Item], cost: Mapping[Item, float]
) -> dict[str, dict[str, tuple[int, float]]]:
    """By place and kernel, how many cases are kept, and the mean cost of one as a multiple of the lane's."""
    of_lanes: dict[str, list[float]] = defaultdict(list)
    by_place: dict[tuple[str, str], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for item in sorted(kept):
        price = LEAST_SECONDS + cost[item]
        of_lanes[item.lane].append(price)
        by_place[item.lane, item.target][item.kernel].append(price)
    return {
        repeats.place_of(lane, target): {
            kernel: (len(prices), round(mean(prices) / mean(of_lanes[lane]), 3))
            for kernel, prices in by_kernel.items()
        }
        for (lane, target), by_kernel in by_place.items()
    }


def lacking(
    records: Iterable[Record], kept: Collection[Item]
) -> dict[str, dict[str, dict[str, float]]]:
    """By column, place and kernel, the share of the kept cells that did not run there."""
    ran: dict[tuple[str, str, str], list[bool]] = defaultdict(list)
    for record in records:
        if Item.of(record) in kept and not record.config:
            place = repeats.place_of(record.lane, record.target)
            ran[record.column, place, record.kernel].append(record.ran)
    shares: dict[str, dict[str, dict[str, float]]] = defaultdict(lambda: defaultdict(dict))
    for (column, place, kernel), which in sorted(ran.items()):
        if not all(which):
            shares[column][place][kernel] = round(1 - mean(which), 3)
    return shares


def others(
    stores: Sequence[Path], cost: Mapping[Item, float]
) -> tuple[list[Record], dict[Item, float]]:
    """The cells of kernels without a cost, and what they cost beside the others of their run."""
    known = {item.kernel for item in cost}
    cells: list[Record] = []
    prices: dict[Item, list[float]] = defaultdict(list)
    for path in stores:
        with Store(path, read_only=True) as store:
            records = [record for record in store.records(store.run().id) if not record.config]
        taken: Counter[Item] = Counter()
        for record in records:
            taken[Item.of(record)] += record.seconds
        both = [item for item in taken if cost.get(item)]
        scale = sum(cost[item] for item in both) / sum(taken[item] for item in both)
        new = [record for record in records if record.kernel not in known]
        cells += [replace(record, column=record.column.removeprefix("here-")) for record in new]
        for item in {Item.of(record) for record in new if record.ran}:
            prices[item].append(taken[item] * scale)
    return cells, {
        item: mean(prices[item]) if prices[item] else 0.0 for item in map(Item.of, cells)
    }


def _price(item: Item, cost: Mapping[Item, float], mine: set[Item]) -> float:
    paid = item.lane == "compile" and item.in_lane("emulate") in mine
    also = cost.get(item.in_lane("compile"), 0) if item.lane == "emulate" else 0
    return LEAST_SECONDS + (0 if paid else cost[item] + also)


def _least(shows: Mapping[Item, set[Fact]], price: Mapping[Item, float]) -> set[Item]:
    """Few and cheap items that together show all that `shows` has: each time the one that adds most for its price."""
    left = _union(shows, shows)
    least: list[Item] = []
    while left:
        best = min(
            (item for item in shows if shows[item] & left),
            key=lambda item: (price[item] / len(shows[item] & left), item),
        )
        least.append(best)
        left -= shows[best]
    # Later cases may show everything that an early one was kept for.
    for item in sorted(least, key=lambda item: (-price[item], item)):
        others = [other for other in least if other != item]
        if shows[item] <= _union(shows, others):
            least = others
    return set(least)


def _union(shows: Mapping[Item, set[Fact]], items: Iterable[Item]) -> set[Fact]:
    return set().union(*(shows.get(item, ()) for item in items))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("stores", nargs="+", type=Path, metavar="STORE")
    parser.add_argument("--others", nargs="+", type=Path, default=[], metavar="STORE")
    options = parser.parse_args()
    records = baseline.read(BASELINE)
    shows = shown(records)
    cost = seconds(options.stores, shows.of_kernel)
    kept = chosen(shows, cost)
    left_out: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for item in sorted(set(shows.of_kernel) - kept):
        left_out[item.kernel][repeats.place_of(item.lane, item.target)].append(item.case)
    cells, of_cells = others(options.others, cost)
    run = {*kept, *of_cells}
    text = repeats.dumped(
        left_out, costs(run, {**cost, **of_cells}), lacking([*records, *cells], run)
    )
    datafile.replace(repeats.DEFAULT_FILE, text, 0o644)
    share = sum(cost[item] for item in kept) / sum(cost.values())
    print(f"{len(kept)} of {len(cost)} cases are kept, {share:.1%} of the seconds")


if __name__ == "__main__":
    main()
