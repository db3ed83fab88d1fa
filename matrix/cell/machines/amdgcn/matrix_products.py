"""Matmuls of a wave: MFMA and WMMA on registers.

MFMA of M x N x K with b blocks, G = lanes / M / b groups of lanes, and n items of A in a lane:

    A[i][k]  lane i + M * (block + b * g), item j:  k = n * g + j      (B likewise, with its column in place of i)
    D[i][c]  lane c + N * g, register 4 * q + p:    i = 4 * G * q + 4 * g + p

Sums are of float64, rounded once: the order and width of a GPU's matrix units differ.
"""

from collections import OrderedDict

import numpy as np

from . import floats, small_floats

u1, u2, u4 = np.uint8, np.uint16, np.uint32
f2, f4, f8 = np.float16, np.float32, np.float64
# Matrices of a chunk that are kept: as many as the tiles of one operand that a loop's matmuls share.
_KEPT = 48
_RAW = {"f32": f4, "xf32": u4, "f64": f8, "f16": f2, "bf16": u2, "i8": np.int8, "u8": u1}
_FORMS = {"i32": np.int32, "f32": f4, "f64": f8}


class Kept:
    """A cache of matrices made of registers, by these registers.

    Matmuls share operands, and add to the last result. Registers are never changed in place, so an array is identified
    by `id` as long as it is in the cache.
    """

    def __init__(self):
        self._found = OrderedDict()

    def of(self, words, how, make):
        """The matrix of `words` that `make()` gives; `how` says which matrix it is."""
        key = (how, *map(id, words))
        entry = self._found.get(key)
        if entry is None:
            return self.keep(words, how, make())
        self._found.move_to_end(key)
        return entry[1]

    def keep(self, words, how, matrix):
        self._found[(how, *map(id, words))] = (list(words), matrix)
        if len(self._found) > _KEPT:
            self._found.popitem(last=False)
        return matrix


def raw_items(words, kind):
    """Words of each lane -> (waves, lanes, items) in the bits of a kind; items narrower than a byte as numbers."""
    whole = np.ascontiguousarray(np.stack(np.broadcast_arrays(*words), -1))
    if kind in small_floats.SMALL:
        return small_floats.unpacked(whole, kind)
    return whole.view(_RAW.get(kind, u1))


def numbers(raw, kind, fnuz):
    """The items of `raw_items` as doubles, in any order."""
    if kind == "xf32":
        raw = (raw & u4(0xFFFFE000)).view(f4)
    elif kind == "bf16":
        raw = floats.from_bf16(raw)
    elif kind in ("fp8", "bf8"):
        raw = small_floats.from_fp8(raw, kind, fnuz)
    return raw.astype(f8)


def items(words, kind, fnuz):
    """Words of each lane -> (waves, lanes, items) as doubles."""
    return numbers(raw_items(words, kind), kind, fnuz)


def scale_of(word, byte):
    """A byte of a word as the power of two that scales a block; 255 is NaN."""
    code = ((word >> u4(8 * byte)) & u4(255)).astype(np.int32)
    return np.where(code == 255, np.nan, np.ldexp(1.0, code - 127))[..., None]


def in_order_of_k(values, kind, groups, side, scale):
    """Items of gfx950's products of small floats, so that item j of group g is that of k = 32 * g + j, and scaled.

    Of the 32 bytes of a lane the first sixteen of all groups come before all second ones; narrower items lie in the
    order of k. A lane's scale is that of the block of 32 with its group's number, for any contents of the lane.
    """
    waves = values.shape[0]
    split = values.reshape(waves, groups, side, 32)
    if small_floats.BITS[kind] == 8:
        halves = split.reshape(waves, groups, side, 2, 16).transpose(0, 3, 1, 4, 2)
        split = halves.reshape(waves, groups, 32, side).transpose(0, 1, 3, 2)
    if scale is not None:
        factors = np.broadcast_to(scale, (waves, groups * side, 1)).reshape(waves, groups, side, 1)
        split = split * factors
    return split.reshape(waves, groups * side, 32)


def mfma(machine, shape, kinds, a, b, c, old, fnuz, form, m, scales=None):
    """Words of D.

    Args:
        shape: (M, N, K, blocks).
        kinds: of the items of A and B.
        a, b, c: words of each lane.
        old: words of D before, which stay in the waves that are not in `m`.
        form: "f32", "i32" or "f64", of C and D.
        scales: for gfx950's products of small floats, the scales of A and B; None for each that has none.
    """
    matrices, how = machine.matrices, (shape, form)
    left = _operand(machine, shape, 0, a, kinds[0], fnuz, scales)
    right = _operand(machine, shape, 1, b, kinds[1], fnuz, scales)
    values = matrices.of(c, how, lambda: _accumulators(machine, shape, c, form))
    multiply = floats.product_in_order if form == "f64" else np.matmul
    if m is None:
        total = _rounded(multiply(left, right) + values.astype(f8), form)
    else:
        here = np.flatnonzero(m)
        total = matrices.of(old, how, lambda: _accumulators(machine, shape, old, form)).copy()
        product = multiply(left[here], right[here]) + values[here].astype(f8)
        total[here] = _rounded(product, form)
    words = _words_of_rows(total, shape, machine.lanes, form)
    matrices.keep(words, how, total)
    return words


def _operand(machine, shape, place, words, kind, fnuz, scales):
    """A, (waves, blocks, m, k), or B, (waves, blocks, k, n), as doubles."""
    m, n, k, blocks = shape
    waves, lanes = machine.shape
    side = (m, n)[place]
    groups = lanes // m // blocks

    def make():
        raw = raw_items(words, kind)
        if scales is not None:
            values = numbers(raw, kind, fnuz)
            raw = in_order_of_k(values, kind, groups, side, scales[place])
        raw = raw.reshape(waves, groups, blocks, side, raw.shape[-1])
        # The items are moved before they are widened.
        if place == 0:
            raw = raw.transpose(0, 2, 3, 1, 4).reshape(waves, blocks, m, k)
        else:
            raw = raw.transpose(0, 2, 1, 4, 3).reshape(waves, blocks, k, n)
        return raw if scales is not None else numbers(raw, kind, fnuz)

    if scales is not None and scales[place] is not None:
        return make()
    return machine.matrices.of(words, (place, shape, kind, scales is None), make)


def _accumulators(machine, shape, words, form):
    """C, (waves, blocks, m, n), in its own type."""
    m, n, _, blocks = shape
    waves, lanes = machine.shape
    if form == "f64":
        whole = np.stack([np.broadcast_to(word, machine.shape) for word in words], -1)
        values = np.ascontiguousarray(whole).view(f8)
        count = values.shape[-1]
        # One register pair of D a row: i = G * q + g, in lane c + N * (block + b * g).
        values = values.reshape(waves, -1, blocks, n, count).transpose(0, 2, 4, 1, 3)
        return values.reshape(waves, blocks, m, n)
    count = len(words)
    whole = np.empty((waves, count, lanes), u4)
    for place, word in enumerate(words):
        whole[:, place] = word
    values = whole.view(_FORMS[form])
    if blocks == 1:
        values = values.reshape(waves, count // 4, 4, lanes // n, n).transpose(0, 1, 3, 2, 4)
        return values.reshape(waves, 1, m, n)
    values = values.reshape(waves, 4, blocks, n).transpose(0, 2, 1, 3)
    return np.ascontiguousarray(values)


def _rounded(total, form):
    if form == "i32":
        return total.astype(np.int64).astype(np.int32)
    return total if form == "f64" else total.astype(f4)


def _words_of_rows(total, shape, lanes, form):
    """D, (waves, blocks, m, n), as the words of each lane."""
    m, n, _, blocks = shape
    waves = total.shape[0]
    if form == "f64":
        count = m * n * blocks // lanes
        total = total.reshape(waves, blocks, count, -1, n).transpose(0, 3, 1, 4, 2)
        return _words(total.reshape(waves, lanes, count), form)
    raw = total.view(u4)
    if blocks == 1:
        count = m * n // lanes
        raw = raw.reshape(waves, count // 4, lanes // n, 4, n).transpose(1, 3, 0, 2, 4)
    else:
        count = 4
        raw = raw.transpose(2, 0, 1, 3)
    return list(np.ascontiguousarray(raw).reshape(count, waves, lanes))


def _words(total, form):
    if form == "i32":
        out = total.astype(np.int64).astype(u4)
    elif form == "f64":
        out = np.ascontiguousarray(total).view(u4)
    elif form == "f32":
        out = np.ascontiguousarray(total.astype(f4)).view(u4)
    elif form == "f16":
        out = np.ascontiguousarray(total.astype(f2)).view(u4)
    else:
        out = np.ascontiguousarray(floats.to_bf16(total.astype(f4))).view(u4)
    return [np.ascontiguousarray(out[..., place]) for place in range(out.shape[-1])]


def wmma(machine, kinds, a, b, c, generation, form):
    """Words of D of 16 x 16 x K. `generation`: 11, where both halves of the wave hold A and B, or 12."""
    waves = machine.waves
    left, right = items(a, kinds[0], False), items(b, kinds[1], False)
    if generation == 11:
        left, right = left[:, :16], right[:, :16].transpose(0, 2, 1)
    else:
        each = left.shape[-1]
        left = left.reshape(waves, 2, 16, each).transpose(0, 2, 1, 3).reshape(waves, 16, 2 * each)
        right = right.reshape(waves, 2, 16, each).transpose(0, 1, 3, 2).reshape(waves, 2 * each, 16)
    if form in ("f16", "bf16"):
        values = items(c, form, False)
    else:
        whole = np.ascontiguousarray(np.stack([machine.whole(word) for word in c], -1))
        values = whole.view(np.int32 if form == "i32" else f4).astype(f8)
    # gfx11, register r: row 2 * r in the first sixteen lanes, 2 * r + 1 in the others. gfx12: row r, and r + 8.
    order = (0, 3, 1, 2) if generation == 11 else (0, 1, 3, 2)
    values = values.reshape(waves, 2, 16, 8).transpose(*order).reshape(waves, 16, 16)
    total = np.matmul(left, right) + values
    if generation == 11:
        total = total.reshape(waves, 8, 2, 16).transpose(0, 2, 3, 1)
    else:
        total = total.reshape(waves, 2, 8, 16).transpose(0, 1, 3, 2)
    return _words(total.reshape(waves, 32, 8), form)
