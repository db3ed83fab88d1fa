"""Which cells of the suite repeat a cheaper one: matrix/facts/repeats.json, from the baseline and stores of runs.

Run by hand, on the host, after baseline/all.json was written anew:

    python tests/proofs/repeats.py STORE..      the seconds are those of each store's newest run

In each lane and for each maker of GPUs, a kernel shows on a release, without or with compat: an outcome, and the known
issue of a failure. It also shows on a release which shims act, and the outcomes of the case that proves an issue. Cells
are chosen until everything is shown that the baseline has, those first that show most for their seconds; all others are
repeats.
"""

from __future__ import annotations

import argparse
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from crosswarp.matrix.facts import datafile, issues, repeats
from crosswarp.matrix.results import baseline, verdict
from crosswarp.matrix.results.record import Record
from crosswarp.matrix.results.store import Store

ROOT = Path(__file__).resolve().parents[2]
BASELINE = ROOT / "baseline" / "all.json"
# The lane emulate compiles what it executes, so the lane compile gets that for nothing, and chooses after it.
LANES = ("interpret", "emulate", "compile")
# Of each cell, for the process that it is run in.
LEAST_SECONDS = 0.15


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


def shown(records: Iterable[Record]) -> dict[Item, set[tuple[str, ...]]]:
    """By item, all that it shows; nothing where no release could run it."""
    known = verdict.ByKernel(issues.load())
    by_item: dict[Item, set[tuple[str, ...]]] = defaultdict(set)
    for record in records:
        mine = by_item[Item.of(record)]
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
        mine.update((shim, record.column) for shim in record.shims)
        # Where the case of an issue fails, and where it passes.
        mine.update((one.id, record.column, record.outcome) for one in known.proved_by(record))
    return by_item


def seconds(stores: Sequence[Path], items: Iterable[Item]) -> dict[Item, float]:
    """By item, its mean share of a run of a thousand seconds."""
    shares: Counter[Item] = Counter()
    for path in stores:
        with Store(path, read_only=True) as store:
            records = store.records(store.run().id)
        whole = sum(record.seconds for record in records)
        for record in records:
            shares[Item.of(record)] += 1000 * record.seconds / whole / len(stores)
    return {item: shares[item] for item in items}


def chosen(shows: Mapping[Item, set[tuple[str, ...]]], cost: Mapping[Item, float]) -> set[Item]:
    """The items that together show everything."""
    by_kernel: dict[str, list[Item]] = defaultdict(list)
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
    return kept


def _price(item: Item, cost: Mapping[Item, float], mine: set[Item]) -> float:
    paid = item.lane == "compile" and item.in_lane("emulate") in mine
    also = cost.get(item.in_lane("compile"), 0) if item.lane == "emulate" else 0
    return LEAST_SECONDS + (0 if paid else cost[item] + also)


def _least(shows: Mapping[Item, set[tuple[str, ...]]], price: Mapping[Item, float]) -> set[Item]:
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


def _union(
    shows: Mapping[Item, set[tuple[str, ...]]], items: Iterable[Item]
) -> set[tuple[str, ...]]:
    return set().union(*(shows[item] for item in items))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("stores", nargs="+", type=Path, metavar="STORE")
    stores = parser.parse_args().stores
    shows = shown(baseline.read(BASELINE))
    cost = seconds(stores, shows)
    kept = chosen(shows, cost)
    left_out: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for item in sorted(set(shows) - kept):
        left_out[item.kernel][repeats.place_of(item.lane, item.target)].append(item.case)
    datafile.replace(repeats.DEFAULT_FILE, repeats.dumped(left_out), 0o644)
    share = sum(cost[item] for item in kept) / sum(cost.values())
    print(f"{len(kept)} of {len(shows)} cases are kept, {share:.1%} of the seconds")


if __name__ == "__main__":
    main()
