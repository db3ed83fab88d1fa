"""The runs of a store, reduced to the facts that a comparison needs: the failures and their places."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from crosswarp.matrix.results.record import MODES, RED
from crosswarp.matrix.results.store import Run, Store
from crosswarp.matrix.results.vocabulary import WORST

# More would make a page heavy, for runs that are rarely looked at.
MOST = 20
# The numbers of the failing outcomes.
_RED = {number for number, outcome in enumerate(WORST) if outcome in RED}
# lane, target, kernel, column
Place = tuple[str, str, str, str]


@dataclass(frozen=True)
class Past:
    run: Run
    # The worst outcome of each place, without and with compat: its number in WORST, None where nothing ran.
    worst: Mapping[Place, tuple[int | None, int | None]] = field(default_factory=dict)
    # Failing cells, by mode.
    red: Mapping[str, int] = field(default_factory=dict)
    # Places that fail and passed in the run before, and the other way round; None for the oldest.
    newly_red: int | None = None
    newly_green: int | None = None
    # How many older runs there are.
    more: int = 0


def history(store: Store, run: Run, most: int = MOST) -> list[Past]:
    """The run and those before it of the same suite, newest first; empty where it is the only one."""
    same = [
        stored
        for stored in store.runs()
        if stored.id <= run.id and _suite(stored) == _suite(run) and stored.cells
    ]
    same.sort(key=lambda stored: stored.id)
    if len(same) < 2:
        return []
    listed: list[Past] = []
    # Runs share their places: each is stored once, not once a run.
    same_places: dict[Any, Any] = {}
    for earlier in same[-most:]:
        counts = store.counts(earlier.id)
        worst = worst_of(counts, same_places)
        red: Counter[str] = Counter()
        for (_, _, _, mode, _, outcome), cells in counts.items():
            if outcome in RED:
                red[mode] += cells
        newly_red, newly_green = _changed(listed[-1].worst, worst) if listed else (None, None)
        listed.append(Past(earlier, worst, red, newly_red, newly_green, max(len(same) - most, 0)))
    return listed[::-1]


def _suite(run: Run) -> tuple[str, str]:
    return run.described.suite, str(run.described.library.get("name") or "")


def worst_of(
    counts: Iterable[tuple[str, str, str, str, str, str]],
    interned: dict[Any, Any] | None = None,
) -> dict[Place, tuple[int | None, int | None]]:
    """Returns the worst outcome of each place that `Store.counts` counts. `interned`: values shared with other runs."""
    shared = ({} if interned is None else interned).setdefault
    worst: dict[Place, list[int | None]] = defaultdict(lambda: [None, None])
    for column, target, lane, name, kernel, outcome in counts:
        sides = worst[lane, target, kernel, column]
        mode, rank = MODES.index(name), WORST.index(outcome)
        before = sides[mode]
        sides[mode] = rank if before is None else min(before, rank)
    sides_of = {place: tuple(sides) for place, sides in worst.items()}
    return {shared(place, place): shared(sides, sides) for place, sides in sides_of.items()}


def _changed(before: Mapping, after: Mapping) -> tuple[int, int]:
    """Returns how many places began to fail and how many stopped, of those that both runs have."""
    was, now = _red(before), _red(after)
    return len((now - was) & before.keys()), len((was - now) & after.keys())


def _red(worst: Mapping[Place, tuple[int | None, int | None]]) -> set[Place]:
    return {place for place, (bare, shimmed) in worst.items() if bare in _RED or shimmed in _RED}
