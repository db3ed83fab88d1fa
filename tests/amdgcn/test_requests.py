"""Counts of random requests, beside those of plain loops over lanes and bytes."""

import numpy as np
import pytest

from crosswarp.matrix.cell.observers import amd_counters, counters
from crosswarp.matrix.cell.observers.requests import filled, of_rows

LAYOUTS = {
    "nvidia": counters.LAYOUT,
    **{
        target: amd_counters.layout_of(target, 32 if target.startswith("gfx1") else 64)
        for target in ("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201")
    },
}


def of_global(layout, addresses, nbytes):
    touched = {byte for first in addresses for byte in range(first, first + nbytes)}
    sectors, lines = ({byte // size for byte in touched} for size in (layout.sector, 128))
    return [len(sectors), len(lines), -(-len(touched) // layout.sector)]


def of_shared(layout, by_lane, nbytes, kind):
    """`by_lane` has None for a lane that does not act; a phase without lanes counts once."""
    phases = layout.phases(nbytes, kind)
    order = range(layout.lanes) if phases.order is None else phases.order
    total = least = 0
    for start in range(0, layout.lanes, phases.lanes):
        words = {
            byte // 4
            for lane in order[start : start + phases.lanes]
            if by_lane[lane] is not None
            for byte in range(by_lane[lane], by_lane[lane] + nbytes)
        }
        banks = [word % layout.banks for word in words]
        total += max([1, *map(banks.count, banks)])
        least += 1
    return [total, 0, least]


def addresses(random, lanes, nbytes):
    """Of a few requests: anywhere or in a small place, and at multiples of the size or not."""
    step = random.choice([1, 2, 4, nbytes])
    spots = random.integers(0, random.choice([20, 100, 2000]), (4, lanes)) * step
    rows = [spots, np.arange(lanes) * random.choice([0, 1, 3, 17, 32]) * step + spots[:, :1]]
    return np.concatenate(rows) + 4096


def requests(layout, space):
    """Random requests: bytes, kind, addresses, lanes that act, and what is counted."""
    random = np.random.default_rng(3)
    # NVIDIA has no access of 12 bytes.
    for nbytes in (1, 2, 4, 8, 16, 4, 8, 16, *(() if layout.wider else (12, 12))):
        kind = "load" if layout.served == "cycles" and random.random() < 0.5 else ""
        where = addresses(random, layout.lanes, nbytes)
        active = random.random(where.shape) < random.choice([1, 0.8, 0.3])
        active[:, random.integers(layout.lanes)] = True
        rows = filled(layout, where, active, space, nbytes, kind)
        for spots, acts, counts in zip(where, active, of_rows(layout, rows, space, nbytes, kind)):
            by_lane = [int(spot) if acting else None for spot, acting in zip(spots, acts)]
            yield nbytes, kind, by_lane, counts.tolist()


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_global_counts_are_those_of_loops(layout):
    for nbytes, _, by_lane, counts in requests(layout, "global"):
        assert counts[:3] == of_global(
            layout, [spot for spot in by_lane if spot is not None], nbytes
        )


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_shared_counts_are_those_of_loops(layout):
    for nbytes, kind, by_lane, counts in requests(layout, "shared"):
        assert counts[:3] == of_shared(layout, by_lane, nbytes, kind)
        for width, wider in zip(layout.wider, counts[3:]):
            # As if each access were so wide, at a multiple of its size.
            if nbytes < width:
                spots = [None if spot is None else spot & -width for spot in by_lane]
                assert wider == of_shared(layout, spots, width, kind)[0]
