"""Detectors for LDS: races of waves without a barrier between them, and reads of bytes that nobody wrote."""

from typing import Any

import numpy as np

from .findings import Findings

RACE = "race in shared memory"
UNINITIALISED = "uninitialised read of shared memory"
# In place of a wave: several have stored there.
_SEVERAL = -2


class SharedAccesses:
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

    def released(self, machine: Any, mask: Any) -> None:
        """The workgroups of `mask` have passed a barrier."""
        if machine is self._machine:
            self._epoch[np.asarray(mask).any(1)] += 1

    def access(
        self, machine: Any, at: int, what: str, address: Any, condition: Any, nbytes: int
    ) -> None:
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
            bad = (self._written[group, place] == now) & (others >= 0) & (others != wave)
            self._report(machine, at, bad, group, thread, "reads what another wave stores")
            self._report(machine, at, ~self._stored[group, place], group, thread, "", UNINITIALISED)
            again = (self._read[group, place] == now) & (self._reader[group, place] != wave)
            self._reader[group, place] = np.where(again, _SEVERAL, wave)
            self._read[group, place] = now
            return
        if what == "store":
            others = self._reader[group, place]
            bad = (self._read[group, place] == now) & (others != wave)
            self._report(machine, at, bad, group, thread, "stores where another wave reads")
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
        words = f"{what}, without a barrier between" if what else "bytes that nobody wrote"
        lane = (int(group[first, 0]), int(thread[first]))
        self.findings.add(kind, words, at, machine, lane, int(np.count_nonzero(bad.any(1))))
