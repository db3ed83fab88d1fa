"""Detector: shared memory is used while a copy is still on its way to it.

cp.async lands at the wait_group of its thread, a bulk copy when a thread waits on its mbarrier: as late as a device
may.
"""

from typing import Any

import numpy as np

from .shared_memory import Detector, Event, Room

KIND = "missing wait"


class Waits(Detector):
    def begin(self, room: Room) -> Any:
        return {"bulk store": -1}

    def finished(self, room: Room, shadow: Any) -> None:
        lane = room.clocks.open("bulk")
        if lane is not None:
            self.findings.add(
                KIND,
                "a program ends while a bulk store may still read its shared memory: a cp.async.bulk.wait_group.read "
                "is missing behind it",
                shadow["bulk store"], room.machine, lane,
            )  # fmt: skip

    def event(self, room: Room, shadow: Any, event: Event) -> None:
        if event.by == "bulk store":
            shadow["bulk store"] = event.at
        copies = room.under_way[event.units]
        if event.by == "landed" or not copies.any():
            return
        lane, place = np.nonzero(copies)
        copy = int(copies[lane[0], place[0]]) - 1
        bulk = "bulk" in room.machine.program.kernel.instructions[copy].modifiers
        wait = "a try_wait of its mbarrier" if bulk else "a cp.async.wait_group"
        verb = "reads" if event.kind == "read" else "writes"
        self.findings.add(
            KIND, f"a thread {verb} where a copy may still write: {wait} is missing before it", event.at,
            room.machine, (event.cta[lane[0]], event.thread[lane[0]]), len(np.unique(lane)),
            address=room.address(event.units[lane[0], place[0]]),
            other=f"the copy is {self.findings.instruction(copy)}",
        )  # fmt: skip
