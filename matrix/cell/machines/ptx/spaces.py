"""Loads and stores of a chunk of CTAs in each state space, all checked in one place: `Space.check`."""

from typing import Any, List, Tuple

import numpy as np

from . import memory
from .errors import Unsupported
from .types import BY_BYTES, i8, u1, u4, u8

# Generic addresses of shared and local memory: no process has memory there.
GENERIC_SHARED = 1 << 56
GENERIC_LOCAL = 1 << 57
_NOTHING = np.zeros((1, 1), bool)


class Space:
    """One state space.

    `condition` is which lanes take part: None for all, else an array that broadcasts to (CTAs, threads).
    """

    name = ""

    def __init__(self, machine: Any):
        self.machine = machine

    def check(
        self, at: int, what: str, address: Any, condition: Any, nbytes: int, lane: Any = None
    ) -> None:
        """Check bounds and alignment of an access before it is done, and call the watch.

        `lane` is the (CTA, thread) that copies, where `address` is not by lane.

        Raises:
            Fault: out of bounds or misaligned.
        """
        watch = self.machine.watch
        if watch is not None:
            watch.access(self.machine, at, self.name, what, address, condition, nbytes, lane)
        bad = self.outside(address, nbytes)
        if bad is not None:
            self._fault("out-of-bounds", what, at, address, condition, bad, nbytes, lane)
        if nbytes > 1 and not nbytes & (nbytes - 1):
            low = address & address.dtype.type(nbytes - 1)
            if low.any():
                self._fault("misaligned", what, at, address, condition, low != 0, nbytes, lane)

    def outside(self, address: Any, nbytes: int) -> Any:
        raise NotImplementedError

    def nearest(self, address: int) -> str:
        return ""

    def _fault(self, kind, what, at, address, condition, bad, nbytes, lane) -> None:
        lanes = bad if condition is None else bad & condition
        shape = (self.machine.ctas, self.machine.threads)
        if lane is not None or not lanes.any():
            first = int(np.broadcast_to(address, bad.shape)[bad].flat[0])
            raise self.machine.fault(kind, f"{what} of {nbytes} bytes", self.name, first, lane, at,
                                     self.nearest(first))  # fmt: skip
        full = np.broadcast_to(lanes, shape) if lanes.shape != shape else lanes
        flat = int(full.argmax())
        first = int(np.broadcast_to(address, shape).flat[flat])
        count = int(full.sum())
        more = f"{what} of {nbytes} bytes" + (f" by {count} threads, first" if count > 1 else "")
        raise self.machine.fault(kind, more, self.name, first, divmod(flat, shape[1]), at,
                                 self.nearest(first))  # fmt: skip

    def load(self, at: int, address: Any, condition: Any, count: int, dtype: Any) -> List[Any]:
        """`count` elements of `dtype` from each lane's address; those outside of `condition` get anything."""
        if condition is not None:
            if condition.size == 1:
                if not condition.flat[0]:
                    return [np.zeros((1, 1), dtype)] * count
                condition = None
            else:
                address, condition = np.broadcast_arrays(address, condition)
                place = int(condition.argmax())
                if not condition.flat[place]:
                    return [np.zeros((1, 1), dtype)] * count
                # Those who take no part read along where one who does reads.
                address = np.where(condition, address, address.flat[place])
        self.check(at, "load", address, condition, np.dtype(dtype).itemsize * count)
        return self._read(address, count, dtype)

    def store(self, at: int, address: Any, condition: Any, values: Any, dtype: Any) -> None:
        """Store the values behind each other at each lane's address."""
        nbytes = np.dtype(dtype).itemsize * len(values)
        self.machine.progress += 1
        if condition is not None:
            if condition.size == 1:
                if not condition.flat[0]:
                    return
                condition = None
            elif not condition.any():
                return
        if condition is None:
            self.check(at, "store", address, None, nbytes)
            address, *values = np.broadcast_arrays(address, *values)
            self._write(address, None, values, dtype)
            if self.machine.watch is not None:
                self.machine.watch.written(
                    self.machine, at, self.name, address, None, values, nbytes // len(values)
                )
            return
        shape = (self.machine.ctas, self.machine.threads)
        address = np.broadcast_to(address, shape)
        condition = np.broadcast_to(condition, shape)
        place = int(condition.argmax())
        safe = np.where(condition, address, address.flat[place])
        self.check(at, "store", safe, condition, nbytes)
        values = [np.broadcast_to(value, shape)[condition] for value in values]
        self._write(address, condition, values, dtype)
        if self.machine.watch is not None:
            self.machine.watch.written(
                self.machine, at, self.name, address, condition, values, nbytes // len(values)
            )

    def _read(self, address: Any, count: int, dtype: Any) -> List[Any]:
        raise NotImplementedError

    def _write(self, address: Any, condition: Any, values: Any, dtype: Any) -> None:
        raise NotImplementedError

    def elements(self, address: Any, condition: Any, size: int) -> Tuple[np.ndarray, np.ndarray]:
        """An array of elements of `size` bytes, and the index of the condition's lanes in it (atomics)."""
        raise NotImplementedError


class GlobalSpace(Space):
    name = "global"

    def __init__(self, machine: Any, windows: memory.Memory):
        super().__init__(machine)
        self.windows = windows

    def outside(self, address, nbytes):
        return self.windows.outside(address, nbytes)

    def nearest(self, address):
        return self.windows.nearest(address)

    def _read(self, address, count, dtype):
        return memory.read(address, count, dtype)

    def _write(self, address, condition, values, dtype):
        memory.write(address if condition is None else address[condition], values, dtype)

    def elements(self, address, condition, size):
        return memory.elements(address if condition is None else address[condition], size)


class _OwnSpace(Space):
    """A space in the emulator: `data` by bytes of an element, and a base for each CTA or thread."""

    limit = 0

    def _allocate(self, nbytes: int, fill: int) -> None:
        raw = np.full(nbytes, fill, u1)
        self.data = {size: raw.view(dtype) for size, dtype in BY_BYTES.items()}

    def outside(self, address, nbytes):
        if address.size and int(address.max()) + nbytes <= self.limit:
            return None
        bad = address.astype(u8) + u8(nbytes) > u8(self.limit)
        return bad if bad.any() else None

    def flat(self, address: Any) -> Any:
        """Byte index into `data` of (CTAs, threads)."""
        raise NotImplementedError

    def _read(self, address, count, dtype):
        size = np.dtype(dtype).itemsize
        data, index = self.data[size], self.flat(address)
        index = index // size if size > 1 else index
        return [data[index + place] if place else data[index] for place in range(count)]

    def _write(self, address, condition, values, dtype):
        data, index = self.elements(address, condition, np.dtype(dtype).itemsize)
        for place, value in enumerate(values):
            data[index + place if place else index] = value

    def elements(self, address, condition, size):
        index = self.flat(address)
        if condition is not None:
            index = np.broadcast_to(index, condition.shape)[condition]
        return self.data[size], index // size


class SharedSpace(_OwnSpace):
    """Shared memory of each CTA. In a cluster, bits 24 to 31 of the address are the rank of a CTA."""

    name = "shared"

    def __init__(self, machine: Any, nbytes: int, cluster: int):
        super().__init__(machine)
        self.limit = nbytes
        # A multiple of 128 for every access's alignment, and room behind the last byte.
        self.stride = (nbytes + 127) // 128 * 128 + 128
        # Poison: NaN in every float type.
        self._allocate(machine.ctas * self.stride, 0xFF)
        number = np.arange(machine.ctas, dtype=i8)[:, None]
        self.base = number * i8(self.stride)
        self.cluster = cluster
        if cluster > 1:
            self.rank = (number % cluster).astype(u4)
            self._first = (number - number % cluster) * i8(self.stride)

    def address(self, offset: Any) -> Any:
        """Return the address of `offset` in the CTA's own shared memory."""
        if self.cluster == 1:
            return offset
        return offset | (self.rank << u4(24)).astype(offset.dtype)

    def map(self, address: Any, rank: Any) -> Any:
        """mapa: the same place in the CTA of `rank` of the cluster."""
        low = address.dtype.type(0xFFFFFF)
        return (address & low) | (rank.astype(address.dtype) << address.dtype.type(24))

    def stay(self, at: int, what: str, address: Any, condition: Any, nbytes: int) -> None:
        """Of ``.shared`` alone, which means the CTA's own memory: a GPU has no other there.

        Raises:
            Fault: a lane's address is of another CTA.
        """
        if self.cluster > 1:
            away = (address >> u4(24)) != self.rank
            if (away if condition is None else away & condition).any():
                self._fault("out-of-window", what, at, address, condition, away, nbytes, None)

    def outside(self, address, nbytes):
        if self.cluster == 1:
            return super().outside(address, nbytes)
        offset, rank = address & u4(0xFFFFFF), address >> u4(24)
        bad = (offset.astype(i8) + nbytes > self.limit) | (rank >= u4(self.cluster))
        return bad if bad.any() else None

    def flat(self, address):
        if self.cluster == 1:
            return self.base + address.astype(i8)
        rank = (address >> u4(24)).astype(i8)
        return self._first + rank * i8(self.stride) + (address & u4(0xFFFFFF)).astype(i8)

    def nearest(self, address):
        return f"of {self.limit} bytes"


class LocalSpace(_OwnSpace):
    """Local memory of each thread."""

    name = "local"

    def __init__(self, machine: Any, nbytes: int):
        super().__init__(machine)
        self.limit = nbytes
        stride = (nbytes + 15) // 16 * 16
        lanes = machine.ctas * machine.threads
        self._allocate(lanes * stride, 0xFF)
        self.base = (np.arange(lanes, dtype=i8) * stride).reshape(machine.ctas, machine.threads)

    def flat(self, address):
        return self.base + address.astype(i8)


class GenericSpace:
    """Addresses that may mean any space; almost always they mean global memory."""

    def __init__(self, machine: Any):
        self._machine = machine

    def _parts(self, address: Any, condition: Any) -> List[Tuple[Space, Any, Any]]:
        machine = self._machine
        if int(address.max()) < GENERIC_SHARED:
            return [(machine.global_, address, condition)]
        shared = (address & u8(GENERIC_SHARED)) != 0
        local = (address & u8(GENERIC_LOCAL)) != 0
        parts: List[Tuple[Space, Any, Any]] = []
        for space, mine, mask in (
            (machine.global_, ~(shared | local), ~u8(0)),
            (machine.shared, shared, u8(0xFFFFFFFF)),
            (machine.local, local, u8(0xFFFFFFFF)),
        ):
            own = mine if condition is None else mine & condition
            if own.any():
                part = address & mask
                parts.append((space, part if space is machine.global_ else part.astype(u4), own))
        return parts

    def load(self, at: int, address: Any, condition: Any, count: int, dtype: Any) -> List[Any]:
        parts = self._parts(address, condition)
        if len(parts) == 1:
            space, address, condition = parts[0]
            return space.load(at, address, condition, count, dtype)
        result = [np.zeros((1, 1), dtype)] * count
        for space, address, condition in parts:
            values = space.load(at, address, condition, count, dtype)
            result = [np.where(condition, new, old) for new, old in zip(values, result)]
        return result

    def store(self, at: int, address: Any, condition: Any, values: Any, dtype: Any) -> None:
        for space, part, own in self._parts(address, condition):
            space.store(at, part, own, values, dtype)

    def of_atomic(self, address: Any, condition: Any) -> Tuple[Space, Any]:
        """The one space that all lanes mean.

        Raises:
            Unsupported: they mean several.
        """
        parts = self._parts(address, condition)
        if not parts:
            return self._machine.global_, address
        if len(parts) > 1:
            raise Unsupported("atomic on several spaces at once")
        return parts[0][0], parts[0][1]
