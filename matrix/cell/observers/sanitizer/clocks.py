"""The order of accesses in a CTA (or a cluster): a vector clock for each warp.

An access of one warp comes before that of another if the clock of the second holds the first's time. Barriers, named
barriers, mbarriers and cluster barriers pass clocks on; the order in which the emulator happens to execute does not
count. A warp is in order with itself, and its threads with each other.

Units beside the warps have entries in the clocks too: bulk copies into shared memory, bulk copies out of it, and each
warp's tensor core (wgmma), for whose matmuls only that warp waits.
"""

from typing import Any, Dict, List, Tuple

import numpy as np

INCOMING, OUTGOING, PRODUCTS = 0, 1, 2


class Clocks:
    """The clocks of one chunk of CTAs.

    Attributes:
        warps: of a CTA.
        per: actors of a CTA: its warps, then the units beside them.
        actors: of a cluster.
        seen: (CTAs, warps, actors): the latest time of each actor that a warp knows of.
        ticks: (CTAs, units): how often a unit beside the warps has begun something.
    """

    def __init__(self, machine: Any, beside: bool):
        self.ctas, self.warps = machine.ctas, machine.threads // 32
        self.cluster = machine.shared.cluster
        self.beside = PRODUCTS + self.warps if beside else 0
        self.per = self.warps + self.beside
        self.actors = self.per * self.cluster
        self.rank = np.arange(self.ctas) % self.cluster
        self.seen = np.zeros((self.ctas, self.warps, self.actors), np.int32)
        self._own = self.rank[:, None] * self.per + np.arange(self.warps)[None]
        self._ctas = np.arange(self.ctas)[:, None]
        self._warps = np.arange(self.warps)[None]
        self.seen[self._ctas, self._warps, self._own] = 1
        self.ticks = np.zeros((self.ctas, self.beside), np.int32)
        self._at_barrier: Dict[Any, np.ndarray] = {}
        self._rows: Dict[int, int] = {}
        self._at_object = np.zeros((0, self.actors), np.int32)
        self._issued: Dict[str, np.ndarray] = {}
        self._count: Dict[str, np.ndarray] = {}
        self._groups: Dict[str, List[np.ndarray]] = {}

    def actor(self, cta: np.ndarray, warp: np.ndarray) -> np.ndarray:
        return self._own[cta, warp]

    def unit(self, cta: np.ndarray, which: Any) -> np.ndarray:
        """The actor of a unit beside the warps."""
        return self.rank[cta] * self.per + self.warps + which

    def by_warp(self, mask: Any) -> np.ndarray:
        """(CTAs, warps) that have a thread in `mask`."""
        if mask is None:
            return np.ones((self.ctas, self.warps), bool)
        full = np.broadcast_to(mask, (self.ctas, 32 * self.warps))
        return np.any(full.reshape(self.ctas, self.warps, 32), axis=2)

    # ---------------------------------------------------------------- barriers

    def arrived(self, name: Any, mask: Any) -> None:
        """Merge the clocks of the warps of `mask` into the barrier's; their next accesses are later."""
        warps = self.by_warp(mask)
        seen_by_all = np.where(warps[:, :, None], self.seen, 0).max(1)
        if name == "cluster":
            seen_by_all = seen_by_all.reshape(-1, self.cluster, self.actors).max(1)
        before = self._at_barrier.get(name)
        self._at_barrier[name] = seen_by_all if before is None else np.maximum(before, seen_by_all)
        self._tick(warps)

    def released(self, name: Any, mask: Any) -> None:
        warps = self.by_warp(mask)
        seen_by_all = self._at_barrier[name]
        if name == "cluster":
            seen_by_all = np.repeat(seen_by_all, self.cluster, 0)
        self.seen = np.where(
            warps[:, :, None], np.maximum(self.seen, seen_by_all[:, None]), self.seen
        )

    def _tick(self, warps: np.ndarray) -> None:
        self.seen[self._ctas, self._warps, self._own] += warps

    # ---------------------------------------------------------------- mbarriers

    def _object(self, objects: np.ndarray) -> np.ndarray:
        rows = [self._rows.setdefault(number, len(self._rows)) for number in objects.tolist()]
        if len(self._rows) > len(self._at_object):
            more = np.zeros((2 * len(self._rows) - len(self._at_object), self.actors), np.int32)
            self._at_object = np.r_[self._at_object, more]
        return np.array(rows, np.int64)

    def signals(self, objects: np.ndarray, cta: np.ndarray, warp: np.ndarray) -> None:
        rows = self._object(objects)
        np.maximum.at(self._at_object, rows, self.seen[cta, warp])
        warps = np.zeros((self.ctas, self.warps), bool)
        warps[cta, warp] = True
        self._tick(warps)

    def completes(self, objects: np.ndarray, actor: np.ndarray, time: np.ndarray) -> None:
        """Order waiters on the objects after the copies that complete on them."""
        rows = self._object(objects)
        np.maximum.at(self._at_object, (rows, actor), time)

    def waited(self, objects: np.ndarray, cta: np.ndarray, warp: np.ndarray) -> None:
        known = np.array([number in self._rows for number in objects.tolist()], bool)
        if known.any():
            rows = self._object(objects[known])
            np.maximum.at(self.seen, (cta[known], warp[known]), self._at_object[rows])

    # ---------------------------------------------------------------- groups of what is waited for by number

    def begins(
        self, unit: str, cta: np.ndarray, place: np.ndarray, time: np.ndarray, places: int
    ) -> None:
        """Note that thread or warp `place` of `cta` has begun an operation of its next group."""
        shape = (self.ctas, places)
        issued = self._issued.setdefault(unit, np.zeros(shape, np.int32))
        np.maximum.at(issued, (cta, place), time)

    def commit(self, unit: str, mask: np.ndarray) -> None:
        issued = self._issued.setdefault(unit, np.zeros(mask.shape, np.int32))
        count = self._count.setdefault(unit, np.zeros(mask.shape, np.int64))
        groups = self._groups.setdefault(unit, [])
        if int(count.max()) >= len(groups):
            groups.append(np.zeros(mask.shape, np.int32))
        for number in np.unique(count[mask]):
            here = mask & (count == number)
            groups[number][here] = issued[here]
        count += mask

    def wait(
        self, unit: str, newest: int, mask: np.ndarray
    ) -> Tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(CTA, place, time) of the newest group that each has waited for."""
        nobody = np.zeros(0, np.int64)
        if unit not in self._count:
            return nobody, nobody, nobody
        last = self._count[unit] - newest - 1
        cta, place = np.nonzero(mask & (last >= 0))
        if not len(cta):
            return nobody, nobody, nobody
        time = np.stack(self._groups[unit])[last[cta, place], cta, place]
        return cta, place, time

    def open(self, unit: str) -> Any:
        """Return the (CTA, index) whose last group was not waited for; None if there is none."""
        if unit not in self._issued:
            return None
        issued = self._issued[unit]
        own = self.unit(np.arange(self.ctas), OUTGOING)
        known = self.seen[np.arange(self.ctas), :, own]
        late = issued > np.repeat(known, 32, 1)
        return tuple(axis[0] for axis in np.nonzero(late)) if late.any() else None

    def learn(self, cta: np.ndarray, warp: np.ndarray, actor: np.ndarray, time: np.ndarray) -> None:
        np.maximum.at(self.seen, (cta, warp, actor), time)
