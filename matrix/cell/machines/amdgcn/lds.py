"""LDS of a chunk's workgroups, and each lane's scratch memory."""

from typing import Any, Dict, List, Sequence

import numpy as np

from .registers import POISON, Mask

u1, u2, u4, u8, i8 = np.uint8, np.uint16, np.uint32, np.uint64, np.int64


def words_of(raw: np.ndarray) -> List[np.ndarray]:
    """(…, bytes) -> a list of words; of one or two bytes one word without the rest."""
    size = raw.shape[-1]
    if size < 4:
        low = raw[..., 0].astype(u4)
        return [low | (raw[..., 1].astype(u4) << u4(8)) if size == 2 else low]
    view = np.ascontiguousarray(raw).view(u4)
    return [view[..., word] for word in range(size // 4)]


class LDS:
    """Attributes:
    size: bytes that a workgroup may touch.
    """

    def __init__(self, machine: Any, size: int):
        self.machine, self.size = machine, size
        # A workgroup's begins where those before it end, so that one index finds a byte of a chunk.
        self.stride = -(-max(size, 16) // 16) * 16
        self.bytes = np.full(machine.ctas * self.stride // 4, POISON, u4).view(u1)
        self._views: Dict[int, Any] = {
            1: self.bytes,
            2: self.bytes.view(u2),
            4: self.bytes.view(u4),
            8: self.bytes.view(u8),
        }
        self._base = (machine.group.astype(i8) * self.stride).reshape(-1, 1)

    def _index(self, at: int, what: str, address: np.ndarray, size: int, e: Mask) -> np.ndarray:
        machine = self.machine
        if address.shape != machine.shape:
            address = np.broadcast_to(address, machine.shape)
        address = address.astype(i8)
        if e is not None:
            # Where a lane does not act, any address that is inside.
            address = np.where(e, address, 0)
        bad = address + size > self.size
        if e is not None and bad.any():
            bad = bad & e
        if bad.any():
            machine.fault(
                at, "out-of-bounds", f"{what} of {size} bytes, of {self.size} bytes of LDS", "LDS", address, bad
            )  # fmt: skip
        if machine.watch is not None:
            machine.seen(at, "shared", what, address, e, size)
        return address + self._base

    def load(self, at: int, address: np.ndarray, size: int, e: Mask) -> List[np.ndarray]:
        """A list of words; of one or two bytes one word without the rest."""
        index = self._index(at, "load", address, size, e)
        if size == 1:
            return [self.bytes[index].astype(u4)]
        step = 2 if size == 2 else 4
        if not (index & (step - 1)).any():
            view, index = self._views[step], index >> (step // 2)
            return [view[index + word].astype(u4) for word in range(max(1, size // 4))]
        # Behind the end there may be no more bytes for lanes that do not act.
        index = np.minimum(index, len(self.bytes) - size)
        return words_of(self.bytes[index[..., None] + np.arange(size)])

    def store(
        self,
        at: int,
        address: np.ndarray,
        words: Sequence[np.ndarray],
        size: int,
        e: Mask,
        what: str = "store",
    ) -> None:
        index = self._index(at, what, address, size, e)
        words = [np.broadcast_to(word, self.machine.shape) for word in words]
        if e is not None:
            index, words = index[e], [word[e] for word in words]
        self.machine.progress += 1
        if size == 1:
            self.bytes[index] = words[0].astype(u1)
            return
        step = 2 if size == 2 else 4
        if not (index & (step - 1)).any():
            view, index = self._views[step], index >> (step // 2)
            for place, word in enumerate(words):
                view[index + place] = word.astype(view.dtype)
            return
        for place in range(size):
            self.bytes[index + place] = (words[place // 4] >> u4(8 * (place % 4))).astype(u1)

    def poison(self, address: np.ndarray, size: int, e: Mask) -> None:
        """Poison these bytes: a load into them is under way."""
        index = np.broadcast_to(address, self.machine.shape).astype(i8) + self._base
        index = (index if e is None else index[e]).reshape(-1)
        index = index[(index >= 0) & (index + size <= len(self.bytes))]
        raw = np.frombuffer(POISON.tobytes(), u1)
        for place in range(size):
            self.bytes[index + place] = raw[place % 4]

    def elements(self, at: int, address: np.ndarray, size: int, e: Mask) -> Any:
        """For atomics: (a view by elements, the index of each lane's)."""
        index = self._index(at, "atomic", address, size, e)
        bad = (index & (size - 1)) != 0
        if e is not None:
            bad = bad & e
        if bad.any():
            what = f"atomic of {size} bytes"
            self.machine.fault(
                at, "misaligned", what, "LDS", np.broadcast_to(address, index.shape), bad
            )
        return self._views[size], index // size


class Scratch:
    """Private memory of each lane, for values that do not fit into registers."""

    def __init__(self, machine: Any, size: int):
        self.machine, self.size = machine, size
        self._bytes: Any = None

    def is_behind(self, resource: int, e: Mask) -> bool:
        """Whether the descriptor in scalar registers from `resource` on is of scratch memory: only that is swizzled."""
        swizzled = (self.machine.r(resource + 1) >> u4(31)) != 0
        return bool((swizzled if e is None else swizzled & e).any())

    def _index(self, at: int, what: str, address: np.ndarray, size: int, e: Mask) -> np.ndarray:
        machine = self.machine
        if self._bytes is None:
            words = -(-max(4, self.size) // 4)
            self._bytes = np.full(machine.waves * machine.lanes * words, POISON, u4).view(u1)
        address = np.broadcast_to(address, machine.shape).astype(i8)
        bad = (address < 0) | (address + size > self.size)
        if e is not None:
            bad = bad & e
        if bad.any():
            what = f"{what} of {size} bytes, of {self.size} bytes of scratch"
            machine.fault(at, "out-of-bounds", what, "scratch", address, bad)
        if e is not None:
            address = np.where(e, address, 0)
        if machine.watch is not None:
            machine.seen(at, "local", what, address, e, size)
        lane = np.arange(machine.waves * machine.lanes, dtype=i8).reshape(machine.shape)
        return address + lane * (len(self._bytes) // lane.size)

    def load(self, at: int, address: np.ndarray, size: int, e: Mask) -> List[np.ndarray]:
        index = self._index(at, "load", address, size, e)
        index = np.minimum(index, len(self._bytes) - size)
        return words_of(self._bytes[index[..., None] + np.arange(size)])

    def store(
        self, at: int, address: np.ndarray, words: Sequence[np.ndarray], size: int, e: Mask
    ) -> None:
        index = self._index(at, "store", address, size, e)
        words = [np.broadcast_to(word, self.machine.shape) for word in words]
        if e is not None:
            index, words = index[e], [word[e] for word in words]
        for place in range(size):
            self._bytes[index + place] = (words[place // 4] >> u4(8 * (place % 4))).astype(u1)
