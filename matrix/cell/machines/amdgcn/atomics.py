"""Atomic operations: lanes in their order, one round for each lane that meets the same address."""

from typing import Any, Dict, List, Optional, Sequence

import numpy as np

from . import floats
from .registers import Mask

u2, u4, u8, i4, i8 = np.uint16, np.uint32, np.uint64, np.int32, np.int64
f2, f4, f8 = np.float16, np.float32, np.float64
_FLOATS: Dict[int, Any] = {4: f4, 8: f8}
_SIGNED: Dict[int, Any] = {4: i4, 8: i8}
# Operation -> function of (before, operand), raw bits.
_RAW: Dict[str, Any] = {
    "add": np.add, "sub": np.subtract, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
    "umax": np.maximum, "umin": np.minimum,
}  # fmt: skip
_AS_FLOAT: Dict[str, Any] = {"add_f": np.add, "max_f": floats.maximum, "min_f": floats.minimum}


def combine(
    update: str, old: np.ndarray, new: np.ndarray, compare: Optional[np.ndarray]
) -> np.ndarray:
    """The raw bits that an operation leaves."""
    size = old.dtype.itemsize
    if update == "swap":
        return new
    if update == "cmpswap":
        return np.where(old == compare, new, old)
    if update in _RAW:
        return _RAW[update](old, new)
    if update in ("smax", "smin"):
        kind = _SIGNED[size]
        function: Any = np.maximum if update == "smax" else np.minimum
        return function(old.view(kind), new.view(kind)).view(old.dtype)
    if update == "inc":
        return np.where(old >= new, old.dtype.type(0), old + old.dtype.type(1))
    if update == "dec":
        return np.where((old == 0) | (old > new), new, old - old.dtype.type(1))
    if update in _AS_FLOAT:
        kind = _FLOATS[size]
        return _AS_FLOAT[update](old.view(kind), new.view(kind)).astype(kind).view(old.dtype)
    if update == "pk_add_f16":
        return (old.view(f2) + new.view(f2)).view(old.dtype)
    total = floats.from_bf16(old.view(u2)) + floats.from_bf16(new.view(u2))
    return floats.to_bf16(total).view(old.dtype)


class Atomics:
    def __init__(self, machine: Any):
        self.machine = machine

    def in_memory(self, at: int, update: str, address: np.ndarray, words: Sequence[np.ndarray], size: int,
                  e: Mask) -> List[np.ndarray]:  # fmt: skip
        """Read, combine, write; returns the words that were there before."""
        return self._apply(
            self.machine.memory.elements(at, address, size, e), update, words, size, e
        )

    def in_lds(self, at: int, update: str, address: np.ndarray, words: Sequence[np.ndarray], size: int,
               e: Mask) -> List[np.ndarray]:  # fmt: skip
        return self._apply(self.machine.lds.elements(at, address, size, e), update, words, size, e)

    def _apply(
        self, target: Any, update: str, words: Sequence[np.ndarray], size: int, e: Mask
    ) -> List[np.ndarray]:
        machine = self.machine
        machine.polled = True
        raw = u4 if size == 4 else u8
        before = np.zeros(machine.shape, raw)
        if target is not None:
            view, index = target
            words = [np.broadcast_to(word, machine.shape) for word in words]
            if size == 8:
                pairs = range(0, len(words), 2)
                words = [
                    words[place].astype(u8) | (words[place + 1].astype(u8) << u8(32))
                    for place in pairs
                ]
            active = np.ones(machine.shape, bool) if e is None else e
            compare = words[1][active] if len(words) > 1 else None
            if active.any():
                before[active] = self._rounds(
                    view, index[active], update, words[0][active], compare
                )
        if size == 4:
            return [before]
        return [(before & u8(0xFFFFFFFF)).astype(u4), (before >> u8(32)).astype(u4)]

    def _rounds(self, view: np.ndarray, index: np.ndarray, update: str, values: np.ndarray,
                compare: Optional[np.ndarray]) -> np.ndarray:  # fmt: skip
        numbers = np.arange(len(index))
        # Workgroups come from behind already where the order is reversed; so do the lanes of each.
        order = (
            np.lexsort((-numbers, index))
            if self.machine.backwards
            else np.argsort(index, kind="stable")
        )
        ordered = index[order]
        begins = np.r_[True, ordered[1:] != ordered[:-1]]
        turn = numbers - np.maximum.accumulate(np.where(begins, numbers, 0))
        by_turn = np.argsort(turn, kind="stable")
        result = np.zeros(len(index), view.dtype)
        start = 0
        for count in np.bincount(turn):
            lanes = order[by_turn[start : start + count]]
            start += count
            old = view[index[lanes]]
            new = combine(update, old, values[lanes], None if compare is None else compare[lanes])
            if (new != old).any():
                self.machine.progress += 1
                view[index[lanes]] = new
            result[lanes] = old
        return result
