"""clusterlaunchcontrol: a cluster takes over the work of one that has not begun, which never begins then."""

import numpy as np

from .types import i8, u4, u8

# A response is 16 bytes, opaque to the program; ours in the lower eight: whether one was cancelled (1 bit), and the
# first CTA's x (31), y and z (16 each). Nothing is known of a CTA where none was.
_NONE = ~u8(1)


class Cancels:
    def __init__(self, machine):
        self.machine = machine
        self.shape = (machine.ctas, machine.threads)

    def request(self, at, address, barrier, everyone, condition):
        """try_cancel: the response goes to shared memory, and counts its bytes on an mbarrier when it lands.

        Args:
            everyone: each CTA of the cluster gets the response, at the same places of its memory.
        """
        machine, shared = self.machine, self.machine.shared
        active = (
            np.ones(self.shape, bool)
            if condition is None
            else np.broadcast_to(condition, self.shape)
        )
        where, signal = (
            np.broadcast_to(value, self.shape) & u4(0xFFFFFF) for value in (address, barrier)
        )
        for cta, thread in np.argwhere(active):
            place, lane = where[cta, thread].reshape(1, 1), (int(cta), int(thread))
            shared.check(at, "bulk copy", place, None, 16, lane)
            shared.check(at, "mbarrier", signal[cta, thread].reshape(1, 1), None, 8, lane)
            first = int(cta) - int(cta) % shared.cluster
            owners = first + np.arange(shared.cluster) if everyone else np.array([cta])
            index = (shared.base[owners] + int(place[0, 0])) // 8 + np.arange(2)
            objects = shared.base[owners, 0] + i8(signal[cta, thread])
            values = np.repeat(np.array([[self._take(), 0]], u8), len(owners), 0)
            if machine.watch is not None:
                lanes = np.full(len(owners), cta), np.full(len(owners), thread)
                machine.watch.copying(machine, at, lanes, index, 8, objects // 8)
            machine.mbarriers.copy(objects, 8, index, values, 16)
            machine.progress += 1

    def _take(self):
        first = self.machine.launch.cancel()
        if first is None:
            return _NONE
        x, y, _ = self.machine.launch.grid
        return u8(1 | first % x << 1 | first // x % y << 32 | first // (x * y) << 48)

    @staticmethod
    def cancelled(response):
        """query_cancel.is_canceled."""
        return (_lower(response) & u8(1)) == 1

    @staticmethod
    def first(response):
        """query_cancel.get_first_ctaid: x, y, z and a fourth number that means nothing."""
        raw = _lower(response)
        x, y, z = raw >> u8(1) & u8(0x7FFFFFFF), raw >> u8(32) & u8(0xFFFF), raw >> u8(48)
        return [x.astype(u4), y.astype(u4), z.astype(u4), np.zeros((1, 1), u4)]


def _lower(response):
    return np.ascontiguousarray(response)[..., None].view(u8)[..., 0]
