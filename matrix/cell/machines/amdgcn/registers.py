"""Registers of the waves of a chunk, and lane masks.

Vector registers are (waves, lanes) arrays of 32 raw bits, scalar ones (waves, 1). They are never changed in place, so a
move is a reference. A lane mask from a comparison stays an array of booleans until its bits are read: most masks are
only combined, or used to select.
"""

from typing import Any, Dict, List, Optional, Tuple

import numpy as np

from .operands import EXEC, NULL

u1, u4, u8, i8 = np.uint8, np.uint32, np.uint64, np.int64
# In registers that were not written, or whose load has not landed: NaN as float32, and both halves are NaN as float16
# and as bfloat16. As an address or an index it is far outside all memory.
POISON = u4(0x7FADFFAD)
Mask = Optional[np.ndarray]
# Scalar registers, the special ones among them.
_SCALARS = 128


class Registers:
    """Attributes:
    V, A: vector registers and accumulators.
    scc: the scalar condition, (waves, 1) booleans.
    """

    def __init__(self, waves: int, lanes: int, vectors: int, accumulators: int):
        self.waves, self.lanes = waves, lanes
        self.shape = (waves, lanes)
        self._rows = np.arange(waves)
        self.poison = np.full(self.shape, POISON, u4)
        self.scalar_poison = np.full((waves, 1), POISON, u4)
        self.V: List[np.ndarray] = [self.poison] * vectors
        self.A: List[np.ndarray] = [self.poison] * accumulators
        # None where `_masks` has the newer value.
        self._scalars: List[Any] = [self.scalar_poison] * _SCALARS
        # Number of the first scalar register -> mask over the lanes.
        self._masks: Dict[int, np.ndarray] = {}
        self._pairs = lanes == 64
        self.scc = np.zeros((waves, 1), bool)
        self._scalars[NULL] = np.zeros((waves, 1), u4)
        self.setmask(EXEC, np.ones(self.shape, bool), None)

    # ---------------------------------------------------------------- scalar registers

    def r(self, number: int) -> np.ndarray:
        """The bits of one scalar register."""
        value = self._scalars[number]
        if value is None:
            self._settle(number)
            value = self._scalars[number]
        return value

    def r64(self, number: int) -> np.ndarray:
        if number == NULL:
            return np.zeros((self.waves, 1), u8)
        return self.r(number).astype(u8) | (self.r(number + 1).astype(u8) << u8(32))

    def w(self, number: int, value: Any, m: Mask) -> None:
        """Write one scalar register of the waves `m`."""
        if number == NULL:
            return
        for first in (number, number - 1):
            if first in self._masks and (first == number or self._pairs):
                if self._scalars[first] is None:
                    self._settle(first)
                del self._masks[first]
        if value.shape != (self.waves, 1):
            value = np.broadcast_to(value, (self.waves, 1)).copy()
        self._scalars[number] = value if m is None else np.where(m, value, self._scalars[number])

    def w64(self, number: int, value: Any, m: Mask) -> None:
        self.w(number, (value & u8(0xFFFFFFFF)).astype(u4), m)
        if number != NULL:
            self.w(number + 1, (value >> u8(32)).astype(u4), m)

    def condition(self, value: np.ndarray, m: Mask) -> None:
        """Write SCC of the waves `m`."""
        value = np.broadcast_to(value, (self.waves, 1))
        self.scc = value if m is None else np.where(m, value, self.scc)

    # ---------------------------------------------------------------- lane masks

    def _settle(self, number: int) -> None:
        """Turn a mask into the bits of its registers."""
        first = number if number in self._masks else number - 1
        bits = np.packbits(self._masks[first], axis=1, bitorder="little")
        words = np.ascontiguousarray(bits).view(u4)
        self._scalars[first] = words[:, :1].copy()
        if self._pairs:
            self._scalars[first + 1] = words[:, 1:].copy()

    def mask(self, number: int) -> np.ndarray:
        """A scalar register (pair) as a mask over the lanes."""
        mask = self._masks.get(number)
        if mask is None:
            parts = [self.r(number), self.r(number + 1)] if self._pairs else [self.r(number)]
            raw = np.ascontiguousarray(np.concatenate(parts, axis=1)).view(u1)
            mask = np.unpackbits(raw, axis=1, bitorder="little").view(bool)
            self._masks[number] = mask
        return mask

    def setmask(self, number: int, value: np.ndarray, m: Mask) -> None:
        if number == NULL:
            return
        if m is not None:
            value = np.where(m, value, self.mask(number))
        for other in (number - 1, number + 1) if self._pairs else ():
            if other in self._masks:
                if self._scalars[other] is None:
                    self._settle(other)
                del self._masks[other]
        self._masks[number] = value
        self._scalars[number] = None
        if self._pairs:
            self._scalars[number + 1] = None

    def both(self, *numbers: int) -> bool:
        """Whether all of them are masks at the moment; negative numbers stand for constants that are masks."""
        return all(number < 0 or number in self._masks for number in numbers)

    def nonzero(self, number: int) -> np.ndarray:
        """Whether a lane mask has any lane, (waves, 1)."""
        if number in self._masks:
            return np.asarray(self._masks[number].any(axis=1, keepdims=True))
        value: Any = self.r(number) != 0
        return value | (self.r(number + 1) != 0) if self._pairs else value

    def active(self, m: Mask) -> Mask:
        """The lanes that act: EXEC of the waves `m`; None for all of them."""
        mask = self.mask(EXEC)
        if m is not None:
            mask = mask & m
        return None if mask.all() else mask

    # ---------------------------------------------------------------- lanes

    def put(self, value: np.ndarray, e: Mask, old: np.ndarray) -> np.ndarray:
        """A register after a write of the lanes `e`."""
        return self.whole(value) if e is None else np.where(e, value, old)

    def whole(self, value: np.ndarray) -> np.ndarray:
        """Broadcast a value, which may be the same for all lanes, to (waves, lanes)."""
        if value.shape == self.shape:
            return value
        return np.broadcast_to(value, self.shape).copy()

    def readlane(self, value: np.ndarray, lane: np.ndarray) -> np.ndarray:
        """(waves, 1): the value of one lane, by its number."""
        if value.shape[1] == 1:
            return value
        place = (lane & u4(self.lanes - 1)).reshape(-1)
        if len(place) == 1:
            own = value[:, int(place[0])]
            if len(own) < self.waves:
                own = np.broadcast_to(own, self.waves)
        else:
            own = value[self._rows if len(value) > 1 else 0, place]
        return own.reshape(-1, 1).copy()

    def first_active(self) -> np.ndarray:
        """The number of the first lane that acts; 0 where none does."""
        return np.argmax(self.mask(EXEC), axis=1).astype(u4).reshape(-1, 1)

    def gather(self, value: np.ndarray, index: np.ndarray) -> np.ndarray:
        """Lanes by a table, or by an array of their numbers."""
        value = self.whole(value)
        if index.ndim == 1:
            return value[:, index]
        return np.take_along_axis(value, np.broadcast_to(index, self.shape), 1)

    def branch(
        self, condition: np.ndarray, m: Mask, target: int, following: int
    ) -> List[Tuple[int, Mask]]:
        """Where the waves go: (block, waves) of each way."""
        if m is None:
            if condition.all():
                return [(target, None)]
            if not condition.any():
                return [(following, None)]
            return [(target, condition), (following, ~condition)]
        return [(target, condition & m), (following, ~condition & m)]
