"""cp.async: copies land when their group is waited for, and not before."""

import numpy as np

from . import memory
from .types import BY_BYTES, i8, u1, u4, u8


class Copies:
    """Pending cp.async of each thread. Groups are counted by thread, as on the device."""

    def __init__(self, machine):
        self.machine = machine
        self.shape = (machine.ctas, machine.threads)
        self.group = np.zeros((1, 1), i8)
        # (lanes, elements, data, size of one, its group, its number)
        self._pending = []
        self._started = 0

    def start(self, at, target, source, size, live, condition):
        """Copy `size` bytes a lane; of these `live` come from `source`, and the others are zeros."""
        machine, shape = self.machine, self.shape
        target, source = np.broadcast_to(target, shape), np.broadcast_to(source, shape)
        active = np.ones(shape, bool) if condition is None else np.broadcast_to(condition, shape)
        if not active.any():
            return
        place = int(active.argmax())
        target = np.where(active, target, target.flat[place])
        machine.shared.check(at, "cp.async", target, condition, size)
        dtype = BY_BYTES[size]
        if live is None:
            reading, partial = active, None
        else:
            live = np.broadcast_to(live, shape)
            reading = active & (live != 0)
            partial = active & (live != 0) & (live != u4(size))
        count = int(active.sum())
        data = np.zeros(count, dtype)
        if reading.any():
            if partial is not None and partial.any():
                data = self._partial(at, source, live, active, size)
            else:
                first = source.flat[int(reading.argmax())]
                safe = np.where(reading, source, first)
                machine.global_.check(at, "cp.async load", safe, reading, size)
                data[reading[active]] = memory.read(source[reading], 1, dtype)[0]
        index = machine.shared.flat(target)[active] // size
        lanes = np.nonzero(active)
        group = np.broadcast_to(self.group, shape)[active]
        self._pending.append((lanes, index, data, size, group, self._started))
        self._started += 1
        if machine.watch is not None:
            machine.watch.copying(machine, at, lanes, index, size)

    def _partial(self, at, source, live, active, size):
        rows = np.zeros((int(active.sum()), size), u1)
        wanted = live[active]
        addresses = source[active]
        for place in range(size):
            some = wanted > place
            if some.any():
                byte = addresses + u8(place)
                full = np.zeros(self.shape, u8)
                full[active] = np.where(some, byte, byte[some][0])
                full[~active] = byte[some][0]
                self.machine.global_.check(at, "cp.async load", full, active, 1)
                rows[some, place] = memory.read(byte[some], 1, u1)[0]
        return rows.view(BY_BYTES[size])[:, 0]

    def commit(self, condition):
        self.group = self.group + (1 if condition is None else condition.astype(i8))

    def wait(self, condition, newest):
        """Land all but the `newest` last groups of the threads in hand."""
        if not self._pending:
            return
        group = np.broadcast_to(self.group, self.shape)
        asking = None if condition is None else np.broadcast_to(condition, self.shape)

        def done(lanes, number, _):
            over = number < group[lanes] - newest
            return over if asking is None else over & asking[lanes]

        self._land(done)

    def so_far(self):
        """A number that the copies started up to now lie below."""
        return self._started

    def wait_before(self, threads, before):
        """Land the copies of `threads` (CTAs, threads) that were started before `before`, whatever their group."""
        self._land(lambda lanes, _, number: threads[lanes] & (number < before))

    def _land(self, is_done):
        """Land those for which `is_done(lanes, groups, number)` holds."""
        pending = []
        for lanes, index, data, size, group, number in self._pending:
            done = is_done(lanes, group, number)
            if done.all():
                self.machine.shared.data[size][index] = data
            elif not done.any():
                pending.append((lanes, index, data, size, group, number))
                continue
            else:
                self.machine.shared.data[size][index[done]] = data[done]
                rest = ~done
                pending.append((tuple(axis[rest] for axis in lanes), index[rest], data[rest], size,
                             group[rest], number))  # fmt: skip
            self.machine.landed(lanes, index, size, done)
        self._pending = pending

    def wait_all(self, condition):
        self.commit(condition)
        self.wait(condition, 0)
