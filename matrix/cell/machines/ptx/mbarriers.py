"""mbarrier objects in shared memory, and the bulk copies that complete on them.

An object is 64 bits in an order of our own: pending arrivals (20), expected arrivals (20), pending bytes (22, biased),
phase (1). Bulk copies land, and count their bytes, when somebody asks for the phase: as late as a device may.
"""

import numpy as np

from .types import i8, u8

_COUNT, _BYTES = u8((1 << 20) - 1), u8((1 << 22) - 1)
_EXPECTED_AT, _BYTES_AT, _PHASE_AT = u8(20), u8(40), u8(62)
_BIAS = 1 << 21


class MBarriers:
    def __init__(self, machine):
        self.machine = machine
        self.shape = (machine.ctas, machine.threads)
        # (index of the object, of each lane; data to write)
        self._copies = []
        # Arrivals that wait for copies of cp.async: (object of each thread or -1, number of the first copy that is not
        # waited for, the instruction)
        self._after_copies = []

    def _lanes(self, at, address, condition, what="mbarrier"):
        """Index of each active lane's object in the 64-bit view of shared memory, and which lanes those are."""
        shape = self.shape
        active = np.ones(shape, bool) if condition is None else np.broadcast_to(condition, shape)
        address = np.broadcast_to(address, shape)
        if not active.any():
            return None, active
        safe = np.where(active, address, address.flat[int(active.argmax())])
        self.machine.shared.check(at, what, safe, active, 8)
        return self.machine.shared.flat(safe)[active] // 8, active

    def _value(self, value, active):
        return np.broadcast_to(value, self.shape)[active].astype(i8)

    def _read(self, index):
        raw = self.machine.shared.data[8][index]
        return (
            (raw & _COUNT).astype(i8),
            ((raw >> _EXPECTED_AT) & _COUNT).astype(i8),
            ((raw >> _BYTES_AT) & _BYTES).astype(i8) - _BIAS,
            (raw >> _PHASE_AT) & u8(1),
        )

    def _write(self, index, pending, expected, nbytes, phase):
        done = (pending == 0) & (nbytes == 0)
        pending = np.where(done, expected, pending)
        phase = np.where(done, phase ^ u8(1), phase)
        self.machine.shared.data[8][index] = (
            (pending.astype(u8) & _COUNT)
            | ((expected.astype(u8) & _COUNT) << _EXPECTED_AT)
            | (((nbytes + _BIAS).astype(u8) & _BYTES) << _BYTES_AT)
            | (phase << _PHASE_AT)
        )
        self.machine.progress += 1

    def init(self, at, address, count, condition):
        index, active = self._lanes(at, address, condition, "mbarrier init")
        if index is not None:
            count = self._value(count, active)
            self._write(index, count, count, np.zeros_like(count), np.zeros(len(count), u8))

    def invalidate(self, at, address, condition):
        index, _ = self._lanes(at, address, condition, "mbarrier init")
        if index is not None:
            self.machine.shared.data[8][index] = ~u8(0)

    def change(self, at, address, arrivals, nbytes, condition, drop=False):
        """Arrive `arrivals` times and expect `nbytes` more bytes; returns the state before."""
        index, active = self._lanes(at, address, condition)
        state = np.zeros(self.shape, u8)
        if index is None:
            return state
        state[active] = self.machine.shared.data[8][index]
        if self.machine.watch is not None:
            self.machine.watch.signals(self.machine, at, index, active)
        self._add(index, self._value(arrivals, active), self._value(nbytes, active), drop, at)
        return state

    def _add(self, index, arrivals, nbytes, drop=False, at=None):
        objects, place = np.unique(index, return_inverse=True)
        arrived = np.bincount(place, weights=arrivals, minlength=len(objects)).astype(i8)
        more = np.bincount(place, weights=nbytes, minlength=len(objects)).astype(i8)
        pending, expected, before, phase = self._read(objects)
        if drop:
            expected = expected - arrived
        # More arrivals than the phase wants belong to the next one.
        now = np.minimum(arrived, pending)
        self._write(objects, pending - now, expected, before + more, phase)
        rest = arrived - now
        if rest.any():
            more = rest > 0
            if at is not None and (self._read(objects[more])[0] == 0).any():
                what = "an arrival that no phase wants: the one before still waits for its bytes"
                raise self.machine.fault("mbarrier overflow", what, "", None, None, at)
            self._add(objects[more], rest[more], np.zeros(int(more.sum()), i8), False, at)

    def wait(self, at, address, value, parity, condition):
        """Whether the phase is over: that of the parity `value`, or of the state `value` that an arrival gave."""
        machine = self.machine
        machine.polled = True
        index, active = self._lanes(at, address, condition)
        result = np.zeros(self.shape, bool)
        if index is None:
            return result
        wanted = np.broadcast_to(value, self.shape)[active]
        wanted = wanted.astype(u8) & u8(1) if parity else (wanted >> _PHASE_AT) & u8(1)
        done = self._read(index)[3] != wanted
        if not done.all() and self._copies:
            self._land(np.unique(index[~done]))
            done = self._read(index)[3] != wanted
        if not done.all() and self._after_copies:
            self._arrive_late(np.unique(index[~done]))
            done = self._read(index)[3] != wanted
        # One commit of an mbarrier after the other: two of them end two phases.
        while not done.all() and machine.products.land(np.unique(index[~done])):
            done = self._read(index)[3] != wanted
        if machine.watch is not None:
            machine.watch.waited(machine, at, index, active, done)
        result[active] = done
        return result

    def arrive_after_copies(self, at, address, counted, condition):
        """Each thread arrives when the copies of cp.async that it has started are done.

        Args:
            counted: the object counts this arrival already (.noinc); otherwise it expects one more from now on.
        """
        index, active = self._lanes(at, address, condition)
        if index is None:
            return
        if not counted:
            objects, more = np.unique(index, return_counts=True)
            pending, expected, nbytes, phase = self._read(objects)
            self._write(objects, pending + more, expected, nbytes, phase)
        of_thread = np.full(self.shape, -1, i8)
        of_thread[active] = index
        self._after_copies.append((of_thread, self.machine.copies.so_far(), at))
        self.machine.progress += 1

    def _arrive_late(self, objects):
        """Count the arrivals at `objects` that wait for copies: as late as a device may."""
        waiting = []
        for of_thread, before, at in self._after_copies:
            threads = np.isin(of_thread, objects)
            if threads.any():
                self.machine.copies.wait_before(threads, before)
                index = of_thread[threads]
                if self.machine.watch is not None:
                    self.machine.watch.signals(self.machine, at, index, threads)
                self._add(index, np.ones(len(index), i8), np.zeros(len(index), i8), False, at)
                of_thread = np.where(threads, -1, of_thread)
            if (of_thread >= 0).any():
                waiting.append((of_thread, before, at))
        self._after_copies = waiting

    def arrive(self, objects):
        """Count one arrival at each of the `objects`: the operations of a tcgen05.commit are done."""
        self._add(objects, np.ones(len(objects), i8), np.zeros(len(objects), i8))

    def store(self, at, address, values, dtype, barrier, condition):
        """st.async: the values go to shared memory of the cluster, and count their bytes on an mbarrier there."""
        machine, size = self.machine, np.dtype(dtype).itemsize
        objects, active = self._lanes(at, barrier, condition)
        if objects is None:
            return
        target = np.broadcast_to(address, self.shape)
        target = np.where(active, target, target.flat[int(active.argmax())])
        machine.shared.check(at, "store", target, active, size * len(values))
        first = machine.shared.flat(target)[active] // size
        index = first[:, None] + np.arange(len(values))
        stored = np.stack([np.broadcast_to(value, self.shape)[active] for value in values], 1)
        if machine.watch is not None:
            machine.watch.copying(machine, at, np.nonzero(active), index, size, objects)
        self.copy(objects * 8, size, index, stored.astype(dtype), size * len(values))
        machine.progress += 1

    def copy(self, barrier, size, index, values, nbytes):
        """Write `values` to the elements `index` of `size` bytes when the object `barrier` is asked for.

        Args:
            barrier: byte index of the object in shared memory, of each copy.
            index: (copies, elements); values likewise.
            nbytes: bytes that each copy completes.
        """
        self._copies.append((barrier // 8, size, index, values, nbytes))

    def _land(self, objects):
        pending = []
        for barrier, size, index, values, nbytes in self._copies:
            mine = np.isin(barrier, objects)
            if not mine.any():
                pending.append((barrier, size, index, values, nbytes))
                continue
            self.machine.shared.data[size][index[mine]] = values[mine]
            self.machine.landed(None, index[mine], size, None)
            landed = barrier[mine]
            zero = np.zeros(len(landed), i8)
            self._add(landed, zero, -np.broadcast_to(nbytes, barrier.shape)[mine].astype(i8))
            if not mine.all():
                rest = ~mine
                part = nbytes if np.ndim(nbytes) == 0 else nbytes[rest]
                pending.append((barrier[rest], size, index[rest], values[rest], part))
        self._copies = pending
