"""The runs of a store, each as little as it takes to set one beside another: what was red, and where."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from crosswarp.matrix.results.record import MODES, RED, Record
from crosswarp.matrix.results.store import Run, Store
from crosswarp.matrix.results.vocabulary import WORST

# More make a page heavy, and nobody looks so far back.
MOST = 20
# lane, target, kernel, column
Place = tuple[str, str, str, str]


@dataclass(frozen=True)
class Past:
    run: Run
    # The worst outcome of each place, bare and shimmed: its number in WORST, None where nothing ran.
    worst: Mapping[Place, tuple[int | None, int | None]] = field(default_factory=dict)
    # Cells that are red, by mode.
    red: Mapping[str, int] = field(default_factory=dict)
    # Places that are red and were not in the run before, and the other way round; None for the oldest.
    newly_red: int | None = None
    healed: int | None = None
    # How many older runs there are.
    more: int = 0


def history(store: Store, run: Run, most: int = MOST) -> list[Past]:
    """The run and those before it of the same suite, newest first; empty where it is the only one."""
    same = [
        one for one in store.runs() if one.id <= run.id and _suite(one) == _suite(run) and one.cells
    ]
    same.sort(key=lambda one: one.id)
    if len(same) < 2:
        return []
    found: list[Past] = []
    for one in same[-most:]:
        records = store.records(one.id)
        worst = worst_of(records)
        red = Counter(record.mode for record in records if record.red)
        newly, healed = _changed(found[-1].worst, worst) if found else (None, None)
        found.append(Past(one, worst, red, newly, healed, max(len(same) - most, 0)))
    return found[::-1]


def _suite(run: Run) -> tuple[str, str]:
    return run.described.suite, str(run.described.library.get("name") or "")


def worst_of(records: Iterable[Record]) -> dict[Place, tuple[int | None, int | None]]:
    found: dict[Place, list[int | None]] = defaultdict(lambda: [None, None])
    for record in records:
        sides = found[record.lane, record.target, record.kernel, record.column]
        mode, rank = MODES.index(record.mode), WORST.index(record.outcome)
        before = sides[mode]
        sides[mode] = rank if before is None else min(before, rank)
    return {place: (bare, shimmed) for place, (bare, shimmed) in found.items()}


def _changed(before: Mapping, after: Mapping) -> tuple[int, int]:
    """How many squares turned red and how many ceased to be, of those that both runs have."""
    both = before.keys() & after.keys()
    red = [
        tuple(any(rank is not None and WORST[rank] in RED for rank in side[place]) for side in (before, after))
        for place in both
    ]  # fmt: skip
    return sum(one == (False, True) for one in red), sum(one == (True, False) for one in red)
