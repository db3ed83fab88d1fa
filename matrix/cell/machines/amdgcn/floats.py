"""Float arithmetic of AMD's instructions that numpy lacks, or rounds otherwise."""

import numpy as np

from crosswarp.matrix.cell.machines.ptx.floats import fma_f32 as fma32
from crosswarp.matrix.cell.machines.ptx.floats import fma_f64 as fma64
from crosswarp.matrix.cell.machines.ptx.floats import from_bf16, product_in_order, sum_to_odd

__all__ = [
    "bits_with_sign", "clamp01", "cmp_class", "cos_turns", "exp2_32", "fma16", "fma32", "fma64", "frexp_exponent",
    "frexp_mantissa", "from_bf16", "ldexp", "log2_32", "maximum", "maximum_number", "med3", "med3_number",
    "minimum", "minimum_number", "product_in_order", "rcp_32", "rsq_32", "sin_turns",
    "sqrt_32", "to_bf16", "to_int", "toward_zero16",
]  # fmt: skip
u2, u4, u8 = np.uint16, np.uint32, np.uint64
i4, i8 = np.int32, np.int64
f2, f4, f8 = np.float16, np.float32, np.float64


def fma16(a, b, c):
    """float16 a * b + c, rounded once: float64 holds the product."""
    return sum_to_odd(a.astype(f8) * b.astype(f8), c.astype(f8)).astype(f2)


def _signalling(a):
    raw = a.view({2: u2, 4: u4, 8: u8}[a.dtype.itemsize])
    return np.isnan(a) & (
        (raw >> raw.dtype.type({2: 9, 4: 22, 8: 51}[a.dtype.itemsize]) & raw.dtype.type(1)) == 0
    )


def _picked(a, b, result):
    # In IEEE mode a signalling NaN is not passed over.
    nan = np.isnan(a) | np.isnan(b)
    if nan.any():
        result = np.where(_signalling(a) | _signalling(b), a.dtype.type(np.nan), result)
    return result


def maximum(a, b):
    """The number where one is NaN; +0 above -0."""
    return _picked(a, b, maximum_number(a, b))


def minimum(a, b):
    return _picked(a, b, minimum_number(a, b))


def maximum_number(a, b):
    """Since gfx12: a signalling NaN is passed over as a quiet one is."""
    return np.where((a == 0) & (b == 0), np.where(np.signbit(a), b, a), np.fmax(a, b))


def minimum_number(a, b):
    return np.where((a == 0) & (b == 0), np.where(np.signbit(a), a, b), np.fmin(a, b))


def _med3(a, b, c, larger, lesser):
    """The middle of three; with a NaN the least of them."""
    middle = larger(lesser(a, b), lesser(larger(a, b), c))
    nan = np.isnan(a) | np.isnan(b) | np.isnan(c)
    return np.where(nan, lesser(lesser(a, b), c), middle)


def med3(a, b, c):
    return _med3(a, b, c, maximum, minimum)


def med3_number(a, b, c):
    """Since gfx12."""
    return _med3(a, b, c, maximum_number, minimum_number)


def to_int(value, low, high, dtype):
    """Towards zero, saturated; NaN is 0."""
    wide = np.nan_to_num(np.trunc(value.astype(f8)), nan=0.0, posinf=float(high), neginf=float(low))
    return np.clip(wide, low, high).astype(i8).astype(dtype)


def via64(function):
    """A function of float32 computed in double and rounded: the real ones are within 1 ulp of it."""
    return lambda value: function(value.astype(f8)).astype(f4)


def ldexp(value, exponent):
    wide = value.astype(f8)
    return np.ldexp(wide, np.clip(exponent, -3000, 3000).astype(i4)).astype(value.dtype)


def sin_turns(value):
    wide = value.astype(f8)
    return np.sin((wide - np.floor(wide)) * (2 * np.pi)).astype(value.dtype)


def cos_turns(value):
    wide = value.astype(f8)
    return np.cos((wide - np.floor(wide)) * (2 * np.pi)).astype(value.dtype)


def to_bf16(value):
    """float32 to bfloat16 bits, to nearest even; a NaN keeps its upper bits, and is quiet."""
    bits = np.ascontiguousarray(value).view(u4)
    rounded = (bits + u4(0x7FFF) + ((bits >> u4(16)) & u4(1))) >> u4(16)
    return np.where(np.isnan(value), (bits >> u4(16)) | u4(0x40), rounded).astype(u2)


def toward_zero16(value):
    """float32 -> float16 without rounding up."""
    near = value.astype(f2)
    over = np.abs(near.astype(f4)) > np.abs(value)
    return np.where(over, (near.view(u2) - u2(1)).view(f2), near)


def clamp01(value):
    """Between 0 and 1; NaN becomes 0, as the mode DX10_CLAMP says."""
    kind = value.dtype.type
    return np.fmin(np.fmax(value, kind(0)), kind(1))


def bits_with_sign(bits, negated, absolute):
    """Raw bits after the modifiers of a source, which are of floats."""
    top = bits.dtype.type(1 << (8 * bits.dtype.itemsize - 1))
    if absolute:
        bits = bits & ~top
    return bits ^ top if negated else bits


exp2_32, log2_32, sqrt_32 = via64(np.exp2), via64(np.log2), via64(np.sqrt)
rcp_32 = via64(lambda value: 1.0 / value)
rsq_32 = via64(lambda value: 1.0 / np.sqrt(value))


def cmp_class(value, wanted):
    """Whether a value is of one of the classes whose bits are set in `wanted`."""
    zero, negative = value == 0, np.signbit(value)
    finite = np.isfinite(value)
    tiny = np.finfo(value.dtype).tiny
    denormal = finite & ~zero & (np.abs(value) < tiny)
    normal = finite & ~zero & ~denormal
    nan, inf = np.isnan(value), np.isinf(value)
    raw = value.view({2: u2, 4: u4, 8: u8}[value.dtype.itemsize])
    quiet = (raw >> raw.dtype.type({2: 9, 4: 22, 8: 51}[value.dtype.itemsize])) & raw.dtype.type(
        1
    ) != 0
    tests = (
        nan & ~quiet, nan & quiet, inf & negative, normal & negative, denormal & negative, zero & negative,
        zero & ~negative, denormal & ~negative, normal & ~negative, inf & ~negative,
    )  # fmt: skip
    result = np.zeros(np.broadcast(value, wanted).shape, bool)
    for place, test in enumerate(tests):
        result |= test & (((wanted >> u4(place)) & u4(1)) != 0)
    return result


def frexp_mantissa(value):
    return np.where(np.isfinite(value), np.frexp(value)[0], value).astype(value.dtype)


def frexp_exponent(value):
    return np.where(np.isfinite(value), np.frexp(value)[1], 0).astype(i4)
