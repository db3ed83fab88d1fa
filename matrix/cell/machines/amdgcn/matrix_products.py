"""Matrix products of a wave: MFMA and WMMA on registers.

MFMA of M x N x K with b blocks, G = lanes / M / b groups of lanes, and n items of A in a lane:

    A[i][k]  lane i + M * (block + b * g), item j:  k = n * g + j      (B likewise, with its column in place of i)
    D[i][c]  lane c + N * g, register 4 * q + p:    i = 4 * G * q + 4 * g + p

Sums are of float64, rounded once: a GPU's matrix units add in an order and a width of their own.
"""

import numpy as np

from . import floats, small_floats
from .errors import Unknown

u1, u2, u4 = np.uint8, np.uint16, np.uint32
f2, f4, f8 = np.float16, np.float32, np.float64


def items(words, kind, fnuz):
    """Words of each lane -> (waves, lanes, items) as doubles."""
    whole = np.ascontiguousarray(np.stack(np.broadcast_arrays(*words), -1))
    if kind == "f32":
        return whole.view(f4).astype(f8)
    if kind == "f64":
        return whole.view(f8)
    if kind == "xf32":
        return (whole & u4(0xFFFFE000)).view(f4).astype(f8)
    if kind == "f16":
        return whole.view(f2).astype(f8)
    if kind == "bf16":
        return floats.from_bf16(whole.view(u2)).astype(f8)
    if kind in ("i8", "u8"):
        return whole.view(np.int8 if kind == "i8" else u1).astype(f8)
    if kind in small_floats.SMALL:
        return small_floats.unpacked(whole, kind).astype(f8)
    return small_floats.from_fp8(whole.view(u1), kind, fnuz).astype(f8)


def scale_of(word, byte):
    """A byte of a word as the power of two that scales a block; 255 is NaN."""
    code = ((word >> u4(8 * byte)) & u4(255)).astype(np.int32)
    return np.where(code == 255, np.nan, np.ldexp(1.0, code - 127))[..., None]


def in_order_of_k(values, kind, groups, side, scale):
    """Items of gfx950's products of small floats, so that item j of group g is that of k = 32 * g + j, and scaled.

    Of the 32 bytes of a lane the first sixteen of all groups come before all second ones; narrower items lie in the
    order of k. A lane's scale is that of the block of 32 that its group's number says, whatever the lane holds.
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


def mfma(machine, shape, kinds, a, b, c, fnuz, form, scales=None):
    """Words of D.

    Args:
        shape: (M, N, K, blocks).
        kinds: of the items of A and B.
        a, b, c: words of each lane.
        form: "f32", "i32" or "f64", of C and D.
        scales: for gfx950's products of small floats, the scales of A and B; None for each that has none.
    """
    m, n, k, blocks = shape
    waves, lanes = machine.shape
    left, right = items(a, kinds[0], fnuz), items(b, kinds[1], fnuz)
    groups = lanes // m // blocks
    if scales is not None:
        left = in_order_of_k(left, kinds[0], groups, m, scales[0])
        right = in_order_of_k(right, kinds[1], groups, n, scales[1])
    each = left.shape[-1]
    left = left.reshape(waves, groups, blocks, m, each).transpose(0, 2, 3, 1, 4)
    left = left.reshape(waves, blocks, m, k)
    right = right.reshape(waves, groups, blocks, n, each).transpose(0, 2, 1, 4, 3)
    right = right.reshape(waves, blocks, k, n)
    whole = np.stack([np.broadcast_to(word, machine.shape) for word in c], -1)
    values = (
        np.ascontiguousarray(whole).view({"i32": np.int32, "f32": f4, "f64": f8}[form]).astype(f8)
    )
    count = values.shape[-1]
    if form == "f64":
        # One register pair of D a row: i = G * q + g.
        values = (
            values.reshape(waves, lanes // n, n, count)
            .transpose(0, 3, 1, 2)
            .reshape(waves, 1, m, n)
        )
    elif blocks == 1:
        values = values.reshape(waves, lanes // n, n, count // 4, 4).transpose(0, 3, 1, 4, 2)
        values = values.reshape(waves, 1, m, n)
    else:
        values = values.reshape(waves, blocks, n, 4).transpose(0, 1, 3, 2)
    total = np.matmul(left, right) + values
    if form == "f64":
        total = total.reshape(waves, count, lanes // n, n).transpose(0, 2, 3, 1)
    elif blocks == 1:
        total = total.reshape(waves, count // 4, lanes // n, 4, n).transpose(0, 2, 4, 1, 3)
    else:
        total = total.transpose(0, 1, 3, 2)
    return _words(total.reshape(waves, lanes, count), form)


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
        if generation == 11:
            raise Unknown("16-bit accumulators of gfx11")
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
