"""Data exchange between the threads of a warp. All 32 lanes of a warp are looked at, inactive ones too."""

from typing import Any

import numpy as np

from . import floats
from .errors import Unsupported
from .types import f4, u4

_REDUCTIONS = {
    "add": np.add,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}


class Warps:
    def __init__(self, machine):
        self.shape = (machine.ctas, machine.threads)
        self.lane = np.arange(32)
        self._lanes = np.arange(32, dtype=u4)

    def _by_warp(self, x):
        return np.broadcast_to(x, self.shape).reshape(self.shape[0], -1, 32)

    def shuffle(self, mode, a, b, c, mask):
        """shfl.sync: the value of another lane, and whether that lane is inside of the segment."""
        if b.size == 1 and c.size == 1:
            source, inside = self._source(mode, int(b.flat[0]) & 31, int(c.flat[0]))
            if a.shape[1] == 1:
                # A value that all lanes share.
                return a, np.tile(inside, self.shape[1] // 32)[None]
            if a.shape[1] != self.shape[1]:
                a = np.broadcast_to(a, (a.shape[0], self.shape[1]))
            moved = a.reshape(a.shape[0], -1, 32)[:, :, source].reshape(a.shape)
            return moved, np.tile(inside, self.shape[1] // 32)[None]
        b = self._by_warp(b).astype(np.int64) & 31
        source, inside = self._source(mode, b, self._by_warp(c).astype(np.int64))
        source = np.broadcast_to(source, b.shape)
        moved = np.take_along_axis(self._by_warp(a), source, 2).reshape(self.shape)
        return moved, np.broadcast_to(inside, b.shape).reshape(self.shape)

    def _source(self, mode, b, c):
        lane = self.lane
        bound, segment = c & 31, c >> 8 & 31
        last = (lane & segment) | (bound & ~segment)
        if mode == "bfly":
            source = lane ^ b
            inside = source <= last
        elif mode == "up":
            source = lane - b
            inside = source >= last
        elif mode == "down":
            source = lane + b
            inside = source <= last
        else:
            source = (lane & segment) | (b & ~segment & 31)
            inside = source <= last
        return np.where(inside, source, lane), inside

    def ballot(self, predicate, mask):
        if mask is not None:
            predicate = predicate & mask
        votes = self._by_warp(predicate)
        return np.repeat((votes.astype(u4) << self._lanes).sum(2, dtype=u4), 32, 1)

    def vote(self, mode, predicate, mask):
        if mask is not None:
            predicate = predicate & mask if mode == "any" else predicate | ~mask
        votes = self._by_warp(predicate)
        if mode == "any":
            result = votes.any(2)
        elif mode == "all":
            result = votes.all(2)
        else:
            if mask is not None:
                raise Unsupported("vote.uni in divergence")
            result = votes.all(2) | ~votes.any(2)
        return np.repeat(result, 32, 1)

    def reduce(self, mode, a, mask):
        """redux.sync over the lanes that are active."""
        values = self._by_warp(a)
        function = _REDUCTIONS[mode]
        if mask is None:
            result = function.reduce(values, 2)
        else:
            neutral: Any = 0
            if mode in ("min", "max"):
                bounds = np.iinfo(a.dtype)
                neutral = bounds.max if mode == "min" else bounds.min
            elif mode == "and":
                neutral = np.array(-1).astype(a.dtype)[()]
            active = self._by_warp(mask)
            result = function.reduce(np.where(active, values, a.dtype.type(neutral)), 2)
        return np.repeat(result.astype(a.dtype), 32, 1)

    def reduce_f32(self, mode, a, mask, nan_wins):
        """redux.sync of float32 over the lanes that are active; of nothing but NaN it is the canonical NaN."""
        values = self._by_warp(a)
        function = floats.maximum if mode == "max" else floats.minimum
        nan = np.isnan(values)
        if mask is not None:
            active = self._by_warp(mask)
            # NaN loses, so it represents inactive lanes.
            values, nan = np.where(active, values, f4(np.nan)), nan & active
        while values.shape[2] > 1:
            values = function(values[:, :, ::2], values[:, :, 1::2])
        result = values[:, :, 0]
        result = np.where(
            np.isnan(result) | (nan.any(2) & nan_wins), u4(0x7FFFFFFF), result.view(u4)
        )
        return np.repeat(result, 32, 1).view(f4)

    def match_any(self, a, mask):
        values = self._by_warp(a)
        same = values[:, :, :, None] == values[:, :, None, :]
        if mask is not None:
            same = same & self._by_warp(mask)[:, :, None, :]
        return (same.astype(u4) << self._lanes).sum(3, dtype=u4).reshape(self.shape)

    def elect(self, mask):
        """elect.sync: the lowest active lane, and who it is."""
        if mask is None:
            return np.zeros((1, 1), u4), np.tile(self.lane == 0, self.shape[1] // 32)[None]
        first = self._by_warp(mask).argmax(2)
        leader = np.repeat(first.astype(u4), 32, 1)
        return leader, np.tile(self.lane, self.shape[1] // 32)[None] == leader
