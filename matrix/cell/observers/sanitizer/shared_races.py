"""Detector: two warps touch the same bytes of shared memory, one of them writes, and nothing orders them.

The shadow holds, for each unit, the last writer with its time, and for each actor the time of its last read. `clocks`
decides the order. Two writes of equal values are benign, and reported only on request.
"""

from typing import Any, Optional

import numpy as np

from .shared_memory import Detector, Event, Room

KIND = "race in shared memory"
BENIGN = "equal values written without order"


class _Shadow:
    def __init__(self, room: Room):
        units, actors = room.units, room.clocks.actors
        self.writer = np.zeros(units, np.int16)
        self.time = np.zeros(units, np.int32)
        self.write_at = np.zeros(units, np.int32)
        self.atomic = np.zeros(units, bool)
        self.reads = np.zeros((units, actors), np.int32)
        self.read_at = np.zeros(units, np.int32)
        # Writes that would be races if they change anything: (at, units, old contents, first lane).
        self.suspects: Any = None
        # Instruction whose own lanes meet in a unit.
        self.meets = -1


class SharedRaces(Detector):
    """See above. With `benign`, writes of equal values are reported too."""

    def __init__(self, findings: Any, benign: bool = False):
        super().__init__(findings)
        self._benign = benign

    def begin(self, room: Room) -> _Shadow:
        return _Shadow(room)

    def event(self, room: Room, shadow: _Shadow, event: Event) -> None:
        units, seen = event.units, room.clocks.seen
        writer = shadow.writer[units]
        other = (writer > 0) & (writer != (event.actor + 1)[:, None])
        if event.kind == "atomic":
            other &= ~shadow.atomic[units]
        if other.any() and event.by != "landed":
            # `waits` reports copies that are still under way.
            other &= room.under_way[units] == 0
        if other.any():
            lane, place = np.nonzero(other)
            unit = units[lane, place]
            known = seen[event.cta[lane], event.warp[lane], shadow.writer[unit] - 1]
            bad = known < shadow.time[unit]
            if bad.any():
                self._against_write(room, shadow, event, lane[bad], unit[bad])
        if event.kind == "read":
            shadow.reads[units, event.actor[:, None]] = event.time[:, None]
            shadow.read_at[units] = event.at
            return
        self._against_reads(room, shadow, event)
        shadow.writer[units] = (event.actor + 1)[:, None]
        shadow.time[units] = event.time[:, None]
        shadow.write_at[units] = event.at
        shadow.atomic[units] = event.kind == "atomic"
        if event.kind == "write" and (shadow.writer[units] != (event.actor + 1)[:, None]).any():
            shadow.meets = event.at

    def _against_write(self, room, shadow, event, lane, unit) -> None:
        if event.kind == "write" and event.by == "store":
            # It is a race if it changes the contents: `written` decides.
            first = (int(event.cta[lane[0]]), int(event.thread[lane[0]]))
            shadow.suspects = (
                event.at,
                unit,
                room.raw[unit].copy(),
                shadow.write_at[unit],
                lane,
                event,
                first,
            )
            return
        verb = {"read": "reads", "write": "writes", "atomic": "changes"}[event.kind]
        self._report(room, event, lane[0], unit[0], int(shadow.write_at[unit[0]]), len(lane),
                     f"a warp {verb} what another one wrote, and no barrier lies between")  # fmt: skip

    def _against_reads(self, room: Room, shadow: _Shadow, event: Event) -> None:
        seen = room.clocks.seen[event.cta, event.warp]
        late = shadow.reads[event.units] > seen[:, None, :]
        if not late.any():
            return
        lane, place, actor = np.nonzero(late)
        unit = event.units[lane[0], place[0]]
        beside = int(actor[0]) % room.clocks.per - room.clocks.warps
        if beside == 1:
            what = "a warp writes where a bulk store may still read: its wait_group.read, or a barrier then, is missing"
        elif beside > 1:
            unit_of = room.machine.program.kernel.instructions[int(shadow.read_at[unit])].name
            ends = "wait_group" if unit_of == "wgmma" else "commit, and a try_wait of its mbarrier"
            what = f"a warp writes where a {unit_of} may still read: its {ends}, or a barrier after, is missing"
        else:
            what = "a warp writes what another one reads, and no barrier lies between"
        at = int(shadow.read_at[unit])
        self._report(room, event, lane[0], unit, at, len(np.unique(lane)), what)

    def _report(self, room, event, lane, unit, other, count, what, kind=KIND) -> None:
        self.findings.add(
            kind, what, event.at, room.machine, (event.cta[lane], event.thread[lane]), count,
            address=room.address(unit), other=f"the other side is {self.findings.instruction(other)}",
        )  # fmt: skip

    def written(self, room, shadow, at, index, size, values) -> None:
        suspects, shadow.suspects = shadow.suspects, None
        if suspects is not None and suspects[0] == at:
            _, unit, before, other, lane, event, _ = suspects
            changed = room.raw[unit] != before
            if changed.any():
                first = int(changed.argmax())
                self._report(room, event, lane[first], unit[first], int(other[first]), int(changed.sum()),
                             "two warps write different values, and no barrier lies between")  # fmt: skip
            elif self._benign:
                self._report(room, event, lane[0], unit[0], int(other[0]), len(unit),
                             "two warps write the same value, and no barrier lies between", BENIGN)  # fmt: skip
        if shadow.meets == at:
            shadow.meets = -1
            if not self._meeting(room, at, index, size, values) and self._benign:
                what = "several warps write the same value with one instruction"
                self.findings.add(BENIGN, what, at)

    def _meeting(self, room: Room, at: int, index: Any, size: int, values: Any) -> bool:
        """Check, for several warps in one store, that memory holds each one's value."""
        data = room.machine.shared.data[size]
        for place, value in enumerate(values):
            present = data[index // size + place]
            different = present != np.broadcast_to(value, present.shape)
            if different.any():
                unit: Optional[int] = int(
                    (index[different].reshape(-1)[0] + place * size) >> room.shift
                )
                self.findings.add(
                    KIND, "two warps write different values with one instruction", at,
                    count=int(different.sum()), address=room.address(unit or 0),
                )  # fmt: skip
                return True
        return False
