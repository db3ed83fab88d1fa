"""Memory of the process as waves touch it: by address, and through buffer descriptors."""

from typing import Any, List, Sequence, Tuple

import numpy as np

from crosswarp.matrix.cell.machines.ptx import memory as windows

from .errors import Unsupported
from .lds import words_of
from .registers import Mask

u1, u2, u4, u8, i8 = np.uint8, np.uint16, np.uint32, np.uint64, np.int64


class GlobalMemory:
    def __init__(self, machine: Any, memory: windows.Memory):
        self.machine, self.memory = machine, memory

    def _checked(self, at: int, what: str, address: np.ndarray, size: int, e: Mask) -> Any:
        """The addresses of all lanes, those that do not act with the address of one that does; None if none acts."""
        machine = self.machine
        if address.shape != machine.shape:
            address = np.broadcast_to(address, machine.shape)
        if e is not None:
            acting = int(e.argmax())
            if not e.flat[acting]:
                return None
            address = np.where(e, address, address.flat[acting])
        bad = self.memory.outside(address, size)
        if bad is not None:
            machine.fault(
                at, "out-of-window", f"{what} of {size} bytes", "global", address, bad, self.memory
            )
        if machine.watch is not None:
            machine.seen(at, "global", what, address, e, size)
        return address

    def load(self, at: int, address: np.ndarray, size: int, e: Mask) -> List[np.ndarray]:
        """A list of words; 0 for lanes that do not act. Of one or two bytes one word without the rest."""
        count = max(1, size // 4)
        checked = self._checked(at, "load", address, size, e)
        if checked is None:
            return [np.zeros(self.machine.shape, u4)] * count
        words = read(checked, size)
        return words if e is None else [np.where(e, word, u4(0)) for word in words]

    def store(
        self, at: int, address: np.ndarray, words: Sequence[np.ndarray], size: int, e: Mask
    ) -> None:
        checked = self._checked(at, "store", address, size, e)
        if checked is None:
            return
        words = [np.broadcast_to(word, self.machine.shape) for word in words]
        if e is not None:
            checked, words = checked[e], [word[e] for word in words]
        self.machine.progress += 1
        step = min(size, 4)
        if not (checked & u8(step - 1)).any():
            raw = {1: u1, 2: u2, 4: u4}[step]
            windows.write(checked, [word.astype(raw) for word in words], raw)
        else:
            for place in range(size):
                byte = (words[place // 4] >> u4(8 * (place % 4))).astype(u1)
                windows.write(checked + u8(place), [byte], u1)
        if self.machine.watch is not None:
            self.machine.stored(at, address, words, size, e)

    def scalar_load(self, at: int, address: np.ndarray, size: int, m: Mask) -> List[np.ndarray]:
        """One value a wave: a list of (waves, 1) words."""
        machine = self.machine
        address = np.broadcast_to(address, (machine.waves, 1))
        if m is not None:
            acting = int(m.argmax())
            address = np.where(m, address, address.flat[acting])
        bad = self.memory.outside(address, size)
        if bad is not None:
            what = f"scalar load of {size} bytes"
            machine.fault(at, "out-of-window", what, "global", address, bad, self.memory)
        if machine.watch is not None:
            machine.seen_scalar(at, address, m, size)
        return read(address, size)

    def elements(self, at: int, address: np.ndarray, size: int, e: Mask) -> Any:
        """For atomics: (a view by elements, the index of each lane's); None if no lane acts."""
        checked = self._checked(at, "atomic", address, size, e)
        if checked is None:
            return None
        bad = (checked & u8(size - 1)) != 0
        if bad.any():
            self.machine.fault(at, "misaligned", f"atomic of {size} bytes", "global", checked, bad)
        return windows.elements(checked, size)

    def buffer(self, resource: int, voffset: Any, soffset: Any, immediate: int, size: int,
               e: Mask) -> Tuple[np.ndarray, np.ndarray]:  # fmt: skip
        """(addresses, lanes inside) of an access through the descriptor in scalar registers from `resource` on.

        Raises:
            Unsupported: a swizzled buffer.
        """
        machine = self.machine
        low, high, records = (machine.r(resource + place) for place in range(3))
        base = low.astype(u8) | ((high & u4(0xFFFF)).astype(u8) << u8(32))
        # Bit 31 swizzles. gfx942's bit 30 swizzles the cache alone, and moves no data.
        swizzled = (high >> u4(31)) != 0
        # Registers of waves that are elsewhere hold anything.
        if (swizzled if e is None else swizzled & e).any():
            raise Unsupported("a swizzled buffer")
        offset = (voffset + u4(immediate)).astype(u8)
        inside = offset + u8(size) <= records.astype(u8)
        address = base + offset + soffset.astype(u8)
        if e is not None:
            inside = inside & e
        return address, np.broadcast_to(inside, machine.shape)


def read(address: np.ndarray, size: int) -> List[np.ndarray]:
    """The words at each address; the caller has checked them."""
    if size == 1:
        return [windows.read(address, 1, u1)[0].astype(u4)]
    step = 2 if size == 2 else 4
    if not (address & u8(step - 1)).any():
        raw = u2 if size == 2 else u4
        return [word.astype(u4) for word in windows.read(address, max(1, size // 4), raw)]
    parts = [windows.read(address + u8(place), 1, u1)[0] for place in range(size)]
    return words_of(np.stack(parts, -1))
