"""cp.async.bulk of bytes, without a tensor map: to shared memory, from there to another CTA's, and to global memory."""

import numpy as np

from . import memory
from .types import i8, u1, u4, u8


class BulkCopies:
    def __init__(self, machine):
        self.machine = machine
        self.shape = (machine.ctas, machine.threads)

    def _each(self, condition, *values):
        """The (CTA, thread) of each lane that copies, as arrays of one, with its values."""
        active = (
            np.ones(self.shape, bool)
            if condition is None
            else np.broadcast_to(condition, self.shape)
        )
        wide = [np.broadcast_to(value, self.shape) for value in values]
        for cta, thread in np.argwhere(active):
            self.machine.progress += 1
            yield (np.array([cta]), np.array([thread])), *(value[cta, thread] for value in wide)

    def _shared(self, at, what, lanes, address, size):
        """The indexes of bytes of shared memory, of the CTA that the address names."""
        shared, (cta, thread) = self.machine.shared, lanes
        places = address + np.arange(size, dtype=u4)
        shared.check(at, what, places, None, 1, (int(cta[0]), int(thread[0])))
        return self._index(cta, places)

    def _index(self, cta, address):
        shared = self.machine.shared
        if shared.cluster > 1:
            cta = cta - cta % shared.cluster + (address >> u4(24)).astype(i8)
        return shared.base[cta, 0] + (address & u4(0xFFFFFF)).astype(i8)

    def _global(self, at, what, lanes, address, size):
        addresses = address + np.arange(size, dtype=u8)
        self.machine.global_.check(
            at, what, addresses, None, 1, (int(lanes[0][0]), int(lanes[1][0]))
        )
        return addresses

    def _deliver(self, at, lanes, target, values, barrier):
        index = self._shared(at, "bulk copy", lanes, target, len(values))[None]
        signal = self._index(lanes[0], barrier)
        if self.machine.watch is not None:
            self.machine.watch.copying(self.machine, at, lanes, index, 1, signal // 8)
        self.machine.mbarriers.copy(signal, 1, index, values[None], len(values))

    def load(self, at, target, source, nbytes, barrier, condition):
        """Global to shared memory, completed on an mbarrier."""
        for lanes, to, start, size, signal in self._each(
            condition, target, source, nbytes, barrier
        ):
            addresses = self._global(at, "bulk load", lanes, start, size)
            self._deliver(at, lanes, to, memory.read(addresses, 1, u1)[0], signal)

    def send(self, at, target, source, nbytes, barrier, condition):
        """Shared memory to that of a CTA of the cluster, completed on an mbarrier there."""
        for lanes, to, start, size, signal in self._each(
            condition, target, source, nbytes, barrier
        ):
            index = self._shared(at, "bulk store", lanes, start, size)
            self._deliver(at, lanes, to, self.machine.shared.data[1][index], signal)

    def store(self, at, target, source, nbytes, condition):
        """Shared to global memory, at once."""
        for lanes, to, start, size in self._each(condition, target, source, nbytes):
            index = self._shared(at, "bulk store", lanes, start, size)
            addresses = self._global(at, "bulk store", lanes, to, size)
            if self.machine.watch is not None:
                self.machine.watch.reading(self.machine, at, lanes, index[None], 1)
            memory.write(addresses, [self.machine.shared.data[1][index]], u1)
