"""Detectors for LDS: races of waves without a barrier between them, and reads of bytes that nobody wrote.

A barrier does not wait for stores. One that its wave has not waited for is still under way behind the barrier.
"""

from typing import Any, List, Tuple

import numpy as np

from crosswarp.matrix.cell.machines import ptx

from .findings import Findings

RACE = "race in shared memory"
UNINITIALISED = "uninitialised read of shared memory"
MISSING_WAIT = "missing wait"
_RACE = ", without a barrier between"
# In place of a wave: several have stored there.
_SEVERAL = -2
# Stores that are kept before those that have ended are dropped.
_MANY = 64


class SharedAccesses(ptx.Watch):
    """The accesses to each byte of LDS since the last barrier of its workgroup."""

    def __init__(self, findings: Findings):
        self.findings = findings
        self._machine: Any = None

    def _begin(self, machine: Any) -> None:
        self._machine = machine
        shape = (machine.ctas, max(1, machine.lds.size))
        self._epoch = np.zeros(machine.ctas, np.int32)
        self._stored = np.zeros(shape, bool)
        self._writer = np.full(shape, -1, np.int16)
        self._written = np.full(shape, -1, np.int32)
        self._reader = np.full(shape, -1, np.int16)
        self._read = np.full(shape, -1, np.int32)
        # The barrier that a store was still under way at, by byte.
        self._late = np.full(shape, -1, np.int32)
        # The counter's entry of each store, and its groups, places and waves.
        self._stores: List[Tuple[Any, Any, Any, Any]] = []

    def released(self, machine: Any, name: Any, mask: Any) -> None:
        """The workgroups of `mask` have passed a barrier."""
        if machine is not self._machine:
            return
        passed: Any = np.asarray(mask).any(1)
        self._epoch[passed] += 1
        self._drop_ended()
        for entry, group, place, wave in self._stores:
            late = passed[group]
            if entry.waves is not None:
                late = late & entry.waves.reshape(machine.ctas, -1)[group, wave]
            late = late & (self._writer[group, place] == wave)
            group, place = (np.broadcast_to(index, late.shape)[late] for index in (group, place))
            self._late[group, place] = self._epoch[group]

    def _drop_ended(self) -> None:
        self._stores = [store for store in self._stores if store[0].kind]

    def access(self, machine, at, space, what, address, condition, nbytes, lane=None) -> None:
        if space != "shared":
            return
        if machine is not self._machine:
            self._begin(machine)
        shape = (machine.ctas, machine.threads)
        lanes = np.ones(shape, bool) if condition is None else np.broadcast_to(condition, shape)
        group, thread = np.nonzero(lanes)
        if not len(group):
            return
        place = np.broadcast_to(address, shape)[group, thread].astype(np.int64)[
            :, None
        ] + np.arange(nbytes)
        wave = (thread // machine.lanes).astype(np.int16)[:, None]
        group = group[:, None]
        now = self._epoch[group]
        if what == "load":
            others = self._writer[group, place]
            other = (others >= 0) & (others != wave)
            bad = other & (self._written[group, place] == now)
            self._report(machine, at, bad, group, thread, f"reads what another wave stores{_RACE}")
            bad = other & (self._late[group, place] == now)
            what = "reads what another wave stores, which did not wait for it before the barrier"
            self._report(machine, at, bad, group, thread, what, MISSING_WAIT)
            bad = ~self._stored[group, place]
            self._report(machine, at, bad, group, thread, "bytes that nobody wrote", UNINITIALISED)
            again = (self._read[group, place] == now) & (self._reader[group, place] != wave)
            self._reader[group, place] = np.where(again, _SEVERAL, wave)
            self._read[group, place] = now
            return
        if what in ("store", "copy"):
            others = self._reader[group, place]
            bad = (self._read[group, place] == now) & (others != wave)
            self._report(machine, at, bad, group, thread, f"stores where another wave reads{_RACE}")
        if what == "store":
            if len(self._stores) >= _MANY:
                self._drop_ended()
            self._stores.append((machine.counters.open[-1], group, place, wave))
        # Waves may store the same value, and atomic operations are in order.
        several = (self._written[group, place] == now) & (self._writer[group, place] != wave)
        self._writer[group, place] = np.where(several | (what == "atomic"), _SEVERAL, wave)
        self._written[group, place] = now
        self._stored[group, place] = True

    def _report(
        self, machine: Any, at: int, bad: Any, group: Any, thread: Any, what: str, kind: str = RACE
    ) -> None:
        if not bad.any():
            return
        first = int(np.argmax(bad.any(1)))
        lane = (int(group[first, 0]), int(thread[first]))
        self.findings.add(kind, what, at, machine, lane, int(np.count_nonzero(bad.any(1))))
