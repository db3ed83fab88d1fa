"""Kernels that use names and arguments of one Triton or another; the tests say on which they are red."""

import triton
import triton.language as tl

from crosswarp.compat import language as ctl
from crosswarp.compat.language import libdevice, rsqrt


@triton.jit
def through_the_door(x, y, B: tl.constexpr):
    at = ctl.arange(0, B)
    v = ctl.load(x + at)
    total = ctl.sum(v, axis=0, keep_dims=True)
    v = ctl.libdevice.tanh(v) + libdevice.round(v) + ctl.math.exp(v) + rsqrt(v) + total
    ctl.store(y + at, v + ctl.cumsum(ctl.load(x + at), 0, reverse=True))


@triton.jit
def reciprocal_root(x, y, B: tl.constexpr):
    at = tl.arange(0, B)
    tl.store(y + at, tl.rsqrt(tl.load(x + at)))


@triton.jit
def reciprocal_root_of_2(x, y, B: tl.constexpr):
    at = tl.arange(0, B)
    tl.store(y + at, tl.math.rsqrt(tl.load(x + at)))


@triton.jit
def hinted_loop(x, y, n, B: tl.constexpr):
    at = tl.arange(0, B)
    total = tl.zeros((B,), tl.float32)
    for start in tl.range(0, n, B, num_stages=3):
        total += tl.load(x + start + at)
    for start in tl.range(n):
        total += start
    tl.store(y + at, total)


@triton.jit
def plain_loop(x, y, n, B: tl.constexpr):
    at = tl.arange(0, B)
    total = tl.zeros((B,), tl.float32)
    for start in range(0, n, B):
        total += tl.load(x + start + at)
    for start in range(n):
        total += start
    tl.store(y + at, total)


@triton.jit
def flipped(x, y, B: tl.constexpr, D: tl.constexpr):
    at = tl.arange(0, B)
    tl.store(y + at, tl.flip(tl.load(x + at).to(D), 0).to(tl.float32))


@triton.jit
def kept(x, y, B: tl.constexpr):
    at = tl.arange(0, B)[:, None] * B + tl.arange(0, B)[None, :]
    v = tl.load(x + at)
    tl.store(y + at, v - tl.sum(v, axis=-1, keep_dims=True) + tl.max(v, keep_dims=True))


@triton.jit
def expanded(x, y, B: tl.constexpr):
    at = tl.arange(0, B)[:, None] * B + tl.arange(0, B)[None, :]
    v = tl.load(x + at)
    tl.store(y + at, v - tl.sum(v, axis=1)[:, None] + tl.max(v, axis=None))


@triton.jit
def product(x, y, B: tl.constexpr, PRECISION: tl.constexpr):
    at = tl.arange(0, B)[:, None] * B + tl.arange(0, B)[None, :]
    v = tl.load(x + at)
    tl.store(y + at, tl.dot(v, v, input_precision=PRECISION))


@triton.jit
def product_of_2(x, y, B: tl.constexpr, TF32: tl.constexpr):
    at = tl.arange(0, B)[:, None] * B + tl.arange(0, B)[None, :]
    v = tl.load(x + at)
    tl.store(y + at, tl.dot(v, v, allow_tf32=TF32))


@triton.jit
def old_math(x, y, B: tl.constexpr):
    at = tl.arange(0, B)
    v = tl.load(x + at)
    tl.store(y + at, tl.math.round(v))
    tl.store(y + B + at, tl.math.rint(v))
    bits = tl.math.float_as_int(v)
    tl.store(y + 2 * B + at, (tl.math.popc(bits) + 64 * tl.math.ffs(bits)).to(tl.float32))
    tl.store(y + 3 * B + at, tl.math.isnan(v).to(tl.float32))


@triton.jit
def scaled(x, y, B: tl.constexpr):
    at = tl.arange(0, B)
    tl.store(y + at, tl.load(x + at) * B)


FOUR = tl.constexpr(4)


@triton.jit
def scaled_by_default(x, y, B: tl.constexpr = FOUR):
    at = tl.arange(0, 2 * B)
    tl.store(y + at, at * B)


@triton.jit
def rounded(x, y, B: tl.constexpr):
    at = tl.arange(0, B)
    v = tl.load(x + at).to(dtype=tl.float16, fp_downcast_rounding="rtne")
    tl.store(y + at, v.to(tl.int16, bitcast=True).to(tl.float32))


@triton.jit
def rounded_of_2(x, y, B: tl.constexpr):
    at = tl.arange(0, B)
    v = tl.load(x + at).to(tl.float16)
    tl.store(y + at, v.to(tl.int16, bitcast=True).to(tl.float32))


@triton.jit
def whole(x, y, B: tl.constexpr):
    at = tl.core.CONSTEXPR_0 + tl.arange(0, B)
    dtype = tl.core.get_int_dtype(bitwidth=32, signed=True)
    tl.store(y + at, tl.load(x + at).to(dtype, bitcast=True).to(tl.float32))
