"""Report the accesses to shared memory to its detectors in one form."""

import weakref
from typing import Any, List, NamedTuple, Sequence

import numpy as np

from crosswarp.matrix.cell.machines import ptx

from .clocks import INCOMING, OUTGOING, PRODUCTS, Clocks
from .findings import Findings
from .lanes import of_threads
from .pointers import unit_shift


class Event(NamedTuple):
    """An access to shared memory.

    Attributes:
        kind: "read", "write" or "atomic".
        units: (n, k): touched units of the room.
        cta, warp: (n,): who does it, or has it done.
        actor: (n,): whose access it is from then on, in `Clocks`; and its time.
        thread: (n,), for messages.
    """

    kind: str
    at: int
    units: np.ndarray
    cta: np.ndarray
    warp: np.ndarray
    actor: np.ndarray
    time: np.ndarray
    thread: np.ndarray
    by: str


class Room:
    """The shared memory of one chunk: clocks, and a shadow for each unit of 1, 2 or 4 bytes.

    Attributes:
        under_way: instruction + 1 of the copy that is on its way to a unit; 0 where none is.
    """

    def __init__(self, machine: Any, shift: int, beside: bool):
        self.machine, self.shift = machine, shift
        self.clocks = Clocks(machine, beside)
        self.units = machine.ctas * machine.shared.stride >> shift
        self.raw = machine.shared.data[1 << shift]
        self.under_way = np.zeros(self.units, np.int32)

    def of(self, index: np.ndarray, size: int) -> np.ndarray:
        """(n, k) units of elements `index` of `size` bytes."""
        start = (index.astype(np.int64) * size) >> self.shift
        count = max(1, size >> self.shift)
        return start[:, None] + np.arange(count) if count > 1 else start[:, None]

    def place(self, unit: int) -> str:
        """Where a unit lies, in words."""
        return f"byte {self.address(unit)} of shared memory"

    def address(self, unit: int) -> int:
        return (int(unit) << self.shift) % self.machine.shared.stride


class Detector:
    """Base of the detectors of shared memory; `room` is where it happens."""

    def __init__(self, findings: Findings):
        self.findings = findings

    def begin(self, room: Room) -> Any:
        """The shadow that this detector wants for a chunk."""

    def event(self, room: Room, shadow: Any, event: Event) -> None:
        """An access, before it is done."""

    def written(
        self, room: Room, shadow: Any, at: int, index: Any, size: int, values: Sequence[Any]
    ) -> None:
        """The store `at` is done: element `index` of `size` bytes was to hold `values`."""

    def landed(self, room: Room, shadow: Any, units: np.ndarray) -> None:
        """A copy has arrived."""

    def finished(self, room: Room, shadow: Any) -> None:
        """All programs of the chunk have ended."""


class SharedMemory(ptx.Watch):
    """Turns the calls of a watch into events."""

    def __init__(self, kernel: Any, detectors: List[Detector]):
        self._detectors = detectors
        self._shift = unit_shift(kernel, "shared")
        self._beside = any(
            instruction.name in ("wgmma", "mbarrier")
            or instruction.name == "cp"
            and "bulk" in instruction.modifiers
            for instruction in kernel.instructions
        )
        self._rooms: Any = weakref.WeakKeyDictionary()

    def room(self, machine: Any) -> Any:
        """(room, shadows of the detectors) of a chunk."""
        rooms = self._rooms.get(machine)
        if rooms is None:
            # Without a reference to the machine, which would keep its own entry alive.
            room = Room(weakref.proxy(machine), self._shift, self._beside)
            rooms = self._rooms[machine] = (
                room,
                [detector.begin(room) for detector in self._detectors],
            )
        return rooms

    def _tell(self, room: Room, shadows: Any, event: Event) -> None:
        for detector, shadow in zip(self._detectors, shadows):
            detector.event(room, shadow, event)

    # ---------------------------------------------------------------- by lane

    def access(self, machine, at, space, what, address, condition, nbytes, lane=None) -> None:
        if space != "shared" or what in ("cp.async", "bulk copy", "bulk store"):
            # `copying` and `reading` get these in more detail.
            return
        room, shadows = self.room(machine)
        if what == "wgmma":
            self._product(room, shadows, at, address, condition, nbytes)
            return
        flat = machine.shared.flat(address)
        cta, thread, flat = _lanes(machine, flat, condition)
        if not len(cta):
            return
        kind = {"load": "read", "ldmatrix": "read", "mbarrier": "read", "atomic": "atomic"}.get(
            what, "write"
        )
        clocks = room.clocks
        warp = thread >> 5
        actor = clocks.actor(cta, warp)
        event = Event(
            kind, at, room.of(flat, 1) if nbytes == 1 else _spread(room, flat, nbytes), cta, warp, actor,
            clocks.seen[cta, warp, actor], thread, what,
        )  # fmt: skip
        self._tell(room, shadows, event)

    def written(self, machine, at, space, address, condition, values, nbytes) -> None:
        if space != "shared":
            return
        room, shadows = self.room(machine)
        shape = (machine.ctas, machine.threads)
        index = machine.shared.flat(address)
        if condition is not None:
            index = np.broadcast_to(index, shape)[np.broadcast_to(condition, shape)]
        for detector, shadow in zip(self._detectors, shadows):
            detector.written(room, shadow, at, index, nbytes, values)

    # ---------------------------------------------------------------- copies and products

    def copying(self, machine, at, lanes, index, size, barrier=None) -> None:
        room, shadows = self.room(machine)
        clocks = room.clocks
        cta, thread = lanes
        warp = thread >> 5
        if barrier is None:
            units = room.of(index, size)
            actor = clocks.actor(cta, warp)
            time = clocks.seen[cta, warp, actor]
            by = "cp.async"
        else:
            target = index[:, 0] * size // machine.shared.stride
            units = _rows_of(room, index, size)
            np.add.at(clocks.ticks, (target, INCOMING), 1)
            actor = clocks.unit(target, INCOMING)
            time = clocks.ticks[target, INCOMING]
            by = "bulk copy"
        event = Event("write", at, units, cta, warp, actor, time, thread, by)
        self._tell(room, shadows, event)
        room.under_way[units] = at + 1
        if barrier is not None:
            clocks.completes(barrier, actor, time)

    def landed(self, machine: Any, lanes: Any, index: Any, size: int, done: Any) -> None:
        room, shadows = self.room(machine)
        if done is not None:
            index = index[done]
        if not index.size:
            return
        units = room.of(index.reshape(-1), size)
        at = int(room.under_way[units].max()) - 1
        room.under_way[units] = 0
        for detector, shadow in zip(self._detectors, shadows):
            detector.landed(room, shadow, units)
        if lanes is not None and at >= 0:
            # Only now its bytes are there: readers must be ordered after this moment.
            cta, thread = lanes if done is None else (axis[done] for axis in lanes)
            warp = thread >> 5
            actor = room.clocks.actor(cta, warp)
            time = room.clocks.seen[cta, warp, actor]
            event = Event("write", at, units, cta, warp, actor, time, thread, "landed")
            self._tell(room, shadows, event)

    def reading(self, machine: Any, at: int, lanes: Any, index: Any, size: int) -> None:
        room, shadows = self.room(machine)
        clocks = room.clocks
        cta, thread = lanes
        np.add.at(clocks.ticks, (cta, OUTGOING), 1)
        actor, time = clocks.unit(cta, OUTGOING), clocks.ticks[cta, OUTGOING]
        units = _rows_of(room, index, size)
        self._tell(
            room,
            shadows,
            Event("read", at, units, cta, thread >> 5, actor, time, thread, "bulk store"),
        )
        clocks.begins("bulk", cta, thread, time, machine.threads)

    def multiplying(self, machine: Any, at: int, lanes: Any, index: Any, size: int) -> None:
        """A tcgen05.mma or tcgen05.cp reads until a commit of its thread was waited for."""
        room, shadows = self.room(machine)
        clocks = room.clocks
        cta, thread = lanes
        warp = thread >> 5
        units = _rows_of(room, index.reshape(len(cta), -1), size)
        np.add.at(clocks.ticks, (cta, PRODUCTS + warp), 1)
        actor, time = clocks.unit(cta, PRODUCTS + warp), clocks.ticks[cta, PRODUCTS + warp]
        event = Event("read", at, units, cta, warp, actor, time, thread, "tcgen05")
        self._tell(room, shadows, event)

    def committed(self, machine: Any, at: int, objects: Any, lanes: Any) -> None:
        """A tcgen05.commit: waiters on the mbarriers are ordered after the thread's tensor core operations."""
        clocks = self.room(machine)[0].clocks
        cta, thread = lanes
        which = PRODUCTS + (thread >> 5)
        clocks.completes(objects, clocks.unit(cta, which), clocks.ticks[cta, which])

    def _product(
        self, room: Room, shadows: Any, at: int, address: Any, condition: Any, nbytes: int
    ) -> None:
        clocks, machine = room.clocks, room.machine
        ctas, groups = address.shape[:2]
        active = np.ones((ctas, groups), bool)
        if condition is not None:
            active = np.broadcast_to(condition[:, :, 0, 0], (ctas, groups))
        cta, group = np.nonzero(active)
        if not len(cta):
            return
        offset = address.reshape(ctas, groups, -1)[cta, group].astype(np.int64)
        if machine.shared.cluster > 1:
            offset = offset & 0xFFFFFF
        flat = offset + machine.shared.base[cta]
        units = np.repeat(_rows_of(room, flat // nbytes, nbytes), 4, 0)
        cta = np.repeat(cta, 4)
        warp = np.repeat(4 * group, 4) + np.tile(np.arange(4), len(group))
        clocks.ticks[cta, PRODUCTS + warp] += 1
        time = clocks.ticks[cta, PRODUCTS + warp]
        actor = clocks.unit(cta, PRODUCTS + warp)
        event = Event("read", at, units, cta, warp, actor, time, 32 * warp, "wgmma")
        self._tell(room, shadows, event)
        clocks.begins("wgmma", cta, warp, time, clocks.warps)

    # ---------------------------------------------------------------- order

    def arrived(self, machine: Any, at: int, name: Any, mask: Any) -> None:
        self.room(machine)[0].clocks.arrived(name, mask)

    def released(self, machine: Any, name: Any, mask: Any) -> None:
        self.room(machine)[0].clocks.released(name, mask)

    def signals(self, machine: Any, at: int, objects: Any, active: Any) -> None:
        cta, thread = np.nonzero(active)
        self.room(machine)[0].clocks.signals(objects, cta, thread >> 5)

    def waited(self, machine: Any, at: int, objects: Any, active: Any, done: Any) -> None:
        cta, thread = np.nonzero(active)
        if done.any():
            self.room(machine)[0].clocks.waited(objects[done], cta[done], thread[done] >> 5)

    def group(self, machine: Any, unit: str, mask: Any) -> None:
        clocks = self.room(machine)[0].clocks
        clocks.commit(unit, _places(machine, unit, mask))

    def waited_group(self, machine: Any, unit: str, newest: int, mask: Any) -> None:
        clocks = self.room(machine)[0].clocks
        cta, place, time = clocks.wait(unit, newest, _places(machine, unit, mask))
        if not len(cta):
            return
        warp = place >> 5 if unit == "bulk" else place
        beside = OUTGOING if unit == "bulk" else PRODUCTS + place
        clocks.learn(cta, warp, clocks.unit(cta, beside), time)

    def finished(self, machine: Any) -> None:
        """The programs of a chunk have ended: does a copy still read the shared memory that they gave back?"""
        room, shadows = self.room(machine)
        for detector, shadow in zip(self._detectors, shadows):
            detector.finished(room, shadow)


def _places(machine: Any, unit: str, mask: Any) -> np.ndarray:
    """(CTAs, threads) for bulk copies, (CTAs, warps) for products."""
    shape = (machine.ctas, machine.threads)
    full: Any = np.ones(shape, bool) if mask is None else np.broadcast_to(mask, shape)
    return full if unit == "bulk" else full.reshape(machine.ctas, -1, 32).any(2)


def _lanes(machine: Any, flat: Any, condition: Any) -> Any:
    """(CTA, thread, byte index) of each lane that counts: one a warp, where all touch the same."""
    if condition is None and flat.shape[1] == 1:
        warps = machine.threads // 32
        flat = np.broadcast_to(flat, (machine.ctas, warps)).reshape(-1)
        return (
            np.repeat(np.arange(machine.ctas), warps),
            np.tile(np.arange(warps) * 32, machine.ctas),
            flat,
        )
    return of_threads(machine, flat, condition)


def _spread(room: Room, flat: np.ndarray, nbytes: int) -> np.ndarray:
    start = flat >> room.shift
    count = max(1, nbytes >> room.shift)
    return start[:, None] + np.arange(count) if count > 1 else start[:, None]


def _rows_of(room: Room, index: np.ndarray, size: int) -> np.ndarray:
    """(copies, units) of (copies, elements): small elements share a unit."""
    units = (index.astype(np.int64) * size) >> room.shift
    if size <= 1 << room.shift:
        return units
    per = size >> room.shift
    return (units[:, :, None] + np.arange(per)).reshape(len(units), -1)
