"""Detector: a barrier that some threads of a warp come to and others do not, or not there."""

import weakref
from typing import Any

import numpy as np

from crosswarp.matrix.cell.machines import ptx

from .findings import Findings

KIND = "barrier in divergence"


class Divergence(ptx.Watch):
    def __init__(self, findings: Findings):
        self.findings = findings
        self._last: Any = weakref.WeakKeyDictionary()

    def arrived(self, machine: Any, at: int, name: Any, mask: Any) -> None:
        if mask is None:
            # All threads, at one instruction.
            return
        shape = (machine.ctas, machine.threads)
        last = self._last.setdefault(machine, {}).setdefault(name, np.full(shape, -1, np.int32))
        last[np.broadcast_to(mask, shape)] = at

    def released(self, machine: Any, name: Any, mask: Any) -> None:
        if mask is None or name == "cluster":
            return
        shape = (machine.ctas, machine.threads)
        waited = np.broadcast_to(mask, shape).reshape(shape[0], -1, 32)
        some = waited.any(2) & ~waited.all(2)
        last = self._last[machine][name].reshape(shape[0], -1, 32)
        if some.any():
            cta, warp = (int(index[0]) for index in np.nonzero(some))
            own = waited[cta, warp]
            at = int(last[cta, warp][own][0])
            gone = "have ended" if self._ended(machine, cta, warp, ~own) else "are elsewhere"
            self.findings.add(
                KIND, f"{int(own.sum())} of 32 threads of a warp wait here, and the others {gone}", at, machine,
                (cta, 32 * warp + int(own.argmax())), int(some.sum()),
            )  # fmt: skip
        low = np.where(waited, last, np.iinfo(np.int32).max).min(2)
        high = np.where(waited, last, -1).max(2)
        apart = waited.any(2) & (low != high)
        if apart.any():
            cta, warp = (int(index[0]) for index in np.nonzero(apart))
            self.findings.add(
                KIND, "threads of one warp wait at different instructions", int(low[cta, warp]), machine,
                (cta, 32 * warp), int(apart.sum()),
                other=f"others wait at {self.findings.instruction(int(high[cta, warp]))}",
            )  # fmt: skip

    @staticmethod
    def _ended(machine: Any, cta: int, warp: int, missing: np.ndarray) -> bool:
        if machine.ended is None:
            return False
        return bool(machine.ended[cta, 32 * warp : 32 * warp + 32][missing].all())
