"""Detector: a read of shared memory that was not written in this CTA."""

from typing import Any

import numpy as np

from .shared_memory import Detector, Event, Room

KIND = "uninitialised shared memory"


class SharedUninitialised(Detector):
    def begin(self, room: Room) -> np.ndarray:
        return np.zeros(room.units, bool)

    def event(self, room: Room, shadow: Any, event: Event) -> None:
        if event.kind == "write":
            # Data of a copy counts as written when the copy has landed.
            if event.by not in ("cp.async", "bulk copy"):
                shadow[event.units] = True
            return
        missing = ~shadow[event.units] & (room.under_way[event.units] == 0)
        if missing.any():
            lane, place = np.nonzero(missing)
            unit = event.units[lane[0], place[0]]
            self.findings.add(
                KIND, "a thread reads what was never written", event.at, room.machine,
                (event.cta[lane[0]], event.thread[lane[0]]), len(np.unique(lane)), address=room.address(unit),
            )  # fmt: skip

    def landed(self, room: Room, shadow: Any, units: np.ndarray) -> None:
        shadow[units] = True
