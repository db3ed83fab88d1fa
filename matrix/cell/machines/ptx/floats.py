"""Float arithmetic that numpy lacks: bfloat16, tf32 and fp8, directed rounding, fused multiply-add, flushing.

Raw bits of packed halves grow a last axis of two: element 0 is the low half.
"""

import math
from fractions import Fraction

import numpy as np

from .types import f2, f4, f8, i8, u1, u2, u4, u8

# Smallest normal numbers.
_TINY_F4 = f8(2.0**-126)


def from_bf16(bits):
    """bfloat16 bits (u2) as float32."""
    return (bits.astype(u4) << u4(16)).view(f4)


def to_bf16(x):
    """float32 or float64 to bfloat16 bits, to nearest even; NaN is 0x7FFF."""
    x = np.asarray(x)
    y = to_odd_f32(x) if x.dtype == f8 else np.ascontiguousarray(x, f4)
    bits = y.view(u4)
    bits = ((bits + u4(0x7FFF) + ((bits >> u4(16)) & u4(1))) >> u4(16)).astype(u2)
    return np.where(np.isnan(x), u2(0x7FFF), bits)


def to_odd_f32(x):
    """float64 to float32, an inexact result with an odd last bit: rounding it once more is then right."""
    y = x.astype(f4)
    # A number too large for float32 becomes the largest one, which is odd.
    y = np.where(np.isinf(y) & np.isfinite(x), np.copysign(f4(3.4028234663852886e38), y), y)
    bits = y.view(u4)
    wide = y.astype(f8)
    inexact = (wide != x) & np.isfinite(y) & ((bits & u4(1)) == 0)
    if not inexact.any():
        return y
    away = np.abs(wide) > np.abs(x)
    # Zero has no neighbour below it by bits; an inexact zero is too small, never too large.
    bits = np.where(inexact, np.where(away, bits - u4(1), bits + u4(1)), bits)
    return bits.view(f4)


def sum_to_odd(a, b):
    """a + b in float64; an inexact sum gets an odd last bit, so that one more rounding is the only one."""
    total = a + b
    part = total - a
    error = (a - (total - part)) + (b - part)
    bits = np.ascontiguousarray(total).view(i8)
    wrong = (error != 0) & np.isfinite(total) & ((bits & i8(1)) == 0)
    if not wrong.any():
        return total
    step = np.where((error > 0) == (total > 0), i8(1), i8(-1))
    return np.where(wrong, bits + step, bits).view(f8)


def sum_directed(a, b, rounding):
    """Return float32 a + b as float64, to be rounded so: downward, operands that cancel give -0."""
    total = sum_to_odd(a.astype(f8), b.astype(f8))
    if rounding != "rm":
        return total
    return np.where((total == 0) & (np.signbit(a) | np.signbit(b)), f8(-0.0), total)


def fma_directed(a, b, c, rounding):
    """float32 a * b + c, likewise."""
    return sum_directed(a.astype(f8) * b, c, rounding)


def fma_f32(a, b, c):
    """float32 a * b + c, rounded once."""
    product = a.astype(f8) * b
    total = product + c
    result = total.astype(f4)
    # The product is exact, so only the sum was rounded before: that matters where it lies on a tie of float32, or
    # below its normal numbers.
    bits = total.view(u8)
    doubtful = (bits & u8(0x1FFFFFFF)) == u8(0x10000000)
    small = np.abs(total) < _TINY_F4
    if small.any():
        doubtful |= small & (total != 0)
    if not doubtful.any():
        return result
    product, c = np.broadcast_arrays(product, c)
    at = np.broadcast_to(doubtful, product.shape)
    result = np.array(np.broadcast_to(result, product.shape))
    result[at] = sum_to_odd(product[at], c[at].astype(f8)).astype(f4)
    return result


def _two_sum(a, b):
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def fma_f64(a, b, c):
    """float64 a * b + c, rounded once: exact parts, and an odd last bit before the last sum (Boldo and Melquiond)."""
    a, b, c = np.broadcast_arrays(a, b, c)
    product = a * b
    factor = f8(134217729.0)
    t = a * factor
    a_high = t - (t - a)
    t = b * factor
    b_high = t - (t - b)
    a_low, b_low = a - a_high, b - b_high
    rest = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low
    high, low = _two_sum(c, rest)
    total, error = _two_sum(product, high)
    result = total + sum_to_odd(low, error)
    # Splitting overflows, and products below the normal numbers have no exact rest.
    plain = np.isfinite(a) & np.isfinite(b) & np.isfinite(c)
    inside = (
        (np.abs(a) < 1e150) & (np.abs(b) < 1e150) & (np.abs(c) < 1e290) & (np.abs(product) > 1e-250)
    )
    # An infinite summand wins over a product that overflows.
    special = np.where(np.isfinite(a) & np.isfinite(b), c, product + c)
    result = np.where(plain, result, special)
    zero = plain & (product == 0) & ((a == 0) | (b == 0))
    result = np.where(zero, product + c, result)
    for lane in np.argwhere(plain & ~inside & ~zero):
        at = tuple(lane)
        result[at] = _fma_exact(float(a[at]), float(b[at]), float(c[at]))
    return result


def _fma_exact(a, b, c):
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact == 0:
        return a * b + c if c == 0 else 0.0
    sign = 1.0 if exact > 0 else -1.0
    try:
        return float(exact) or math.copysign(0.0, sign)
    except OverflowError:
        return math.copysign(math.inf, sign)


def fma_small(a, b, c):
    """float32 values of f16 or bf16 operands: a * b + c as float64, to be rounded once more."""
    return sum_to_odd(a.astype(f8) * b, c.astype(f8))


def flush(x):
    """Denormal float32 numbers become zeros of their sign."""
    small = np.abs(x) < f4(2.0**-126)
    return np.where(small, np.copysign(f4(0), x), x) if small.any() else x


def flush_exact(x, exact):
    """float32 `x`, which `exact` (float64) rounds to: zero of its sign where that is below the normal numbers before it
    is rounded, as seen on an H100."""
    small = np.abs(exact) < _TINY_F4
    return np.where(small, np.copysign(f4(0), x), x) if small.any() else x


def clamp01(x):
    """`.sat`: into [0, 1]; NaN becomes 0."""
    zero, unit = x.dtype.type(0), x.dtype.type(1)
    return np.where(x > zero, np.minimum(x, unit), zero)


def relu(x):
    """Negative numbers become 0, -0 too; NaN stays."""
    return np.where(x <= 0, x.dtype.type(0), x)


def minimum(x, y):
    """NaN loses; -0 < +0."""
    r = np.fmin(x, y)
    zeros = (x == 0) & (y == 0)
    return (
        np.where(zeros & (np.signbit(x) | np.signbit(y)), -np.zeros_like(r), r)
        if zeros.any()
        else r
    )


def maximum(x, y):
    """NaN loses; -0 < +0."""
    r = np.fmax(x, y)
    zeros = (x == 0) & (y == 0)
    return (
        np.where(zeros & ~(np.signbit(x) & np.signbit(y)), np.zeros_like(r), r)
        if zeros.any()
        else r
    )


def minimum_nan(x, y):
    return np.where(np.isnan(x) | np.isnan(y), x.dtype.type(np.nan), minimum(x, y))


def maximum_nan(x, y):
    return np.where(np.isnan(x) | np.isnan(y), x.dtype.type(np.nan), maximum(x, y))


def with_signs(magnitude, x, y):
    """The magnitude with the sign of x * y; NaN stays."""
    signed = np.where(np.signbit(x) ^ np.signbit(y), -magnitude, magnitude)
    return np.where(np.isnan(magnitude), magnitude, signed)


def narrow(x, to, rounding):
    """float to the narrower float type `to`, rounded "rn", "rz", "rm" or "rp"."""
    y = x.astype(to)
    if rounding == "rn":
        return y
    wide = y.astype(x.dtype)
    if rounding == "rz":
        move = np.abs(wide) > np.abs(x)
        toward = np.zeros_like(y)
    elif rounding == "rm":
        move = wide > x
        toward = np.full_like(y, -np.inf)
    else:
        move = wide < x
        toward = np.full_like(y, np.inf)
    return np.where(move, np.nextafter(y, toward), y)


def narrow_bf16(x, rounding):
    """float32 to bfloat16 bits, rounded "rn", "rz", "rm" or "rp"."""
    if rounding == "rn":
        return to_bf16(x)
    bits = np.ascontiguousarray(x, f4).view(u4)
    up = u2(0)
    if rounding != "rz":
        away = np.signbit(x) if rounding == "rm" else ~np.signbit(x)
        up = (((bits & u4(0xFFFF)) != 0) & away & np.isfinite(x)).astype(u2)
    return np.where(np.isnan(x), u2(0x7FFF), (bits >> u4(16)).astype(u2) + up)


def to_tf32(x, rounding):
    """float32 to tf32 in its upper bits: "rna" ties away from zero, "rn" to even, "rz" cuts."""
    bits = x.view(u4)
    if rounding == "rna":
        rounded = (bits + u4(0x1000)) & u4(0xFFFFE000)
    elif rounding == "rn":
        rounded = (bits + u4(0xFFF) + ((bits >> u4(13)) & u4(1))) & u4(0xFFFFE000)
    else:
        rounded = bits & u4(0xFFFFE000)
    special = (bits & u4(0x7F800000)) == u4(0x7F800000)
    return np.where(special, np.where(np.isnan(x), u4(0x7FFFFFFF), bits), rounded)


def halves_f16(bits):
    """f16x2 bits to float32 values (…, 2)."""
    return np.ascontiguousarray(bits)[..., None].view(f2).astype(f4)


def pack_f16(x):
    """Values (…, 2) to f16x2 bits, to nearest even."""
    return np.ascontiguousarray(x.astype(f2)).view(u4)[..., 0]


def halves_bf16(bits):
    """bf16x2 bits to float32 values (…, 2)."""
    return from_bf16(np.ascontiguousarray(bits)[..., None].view(u2))


def pack_bf16(x):
    """Values (…, 2) to bf16x2 bits, to nearest even."""
    return np.ascontiguousarray(to_bf16(x)).view(u4)[..., 0]


def halves_f32(bits):
    """f32x2 bits to float32 values (…, 2)."""
    return np.ascontiguousarray(bits)[..., None].view(f4)


def pack_f32(x):
    """float32 values (…, 2) to f32x2 bits."""
    return np.ascontiguousarray(x.astype(f4)).view(u8)[..., 0]


def to_integer(x, low, high, to, rounded):
    """Float to the integer type `to` by the function `rounded`; beyond [low, high] the bound.

    NaN is 0; from or to 64 bits it is the bit above the positive range, as the ISA has it.
    """
    width = 8 * np.dtype(to).itemsize
    nan = 1 << (width - 1) if x.dtype == f8 or width == 64 else 0
    x = rounded(x.astype(f8))
    result = np.where(np.isnan(x), 0.0, np.clip(x, low, high))
    if width < 64:
        whole = result.astype(i8)
        return (np.where(np.isnan(x), i8(nan), whole) if nan else whole).astype(to)
    # The bounds of 64 bits are no float64 numbers.
    large = result >= float(high)
    exact = np.where(large, to(high), np.where(large, 0, result).astype(to))
    return np.where(np.isnan(x), u8(nan).astype(to), exact)


def _fp8_values(exponent_bits, bias, ieee):
    values = np.zeros(256, f4)
    mantissa_bits = 7 - exponent_bits
    for code in range(256):
        exponent = code >> mantissa_bits & ((1 << exponent_bits) - 1)
        fraction = (code & ((1 << mantissa_bits) - 1)) / (1 << mantissa_bits)
        if ieee and exponent == (1 << exponent_bits) - 1:
            value = np.inf if fraction == 0 else np.nan
        elif not ieee and code & 127 == 127:
            value = np.nan
        elif exponent == 0:
            value = fraction * 2.0 ** (1 - bias)
        else:
            value = (1 + fraction) * 2.0 ** (exponent - bias)
        values[code] = -value if code & 128 else value
    return values


FP8 = {"e4m3": _fp8_values(4, 7, ieee=False), "e5m2": _fp8_values(5, 15, ieee=True)}
# e2m1: neither infinity nor NaN.
FP4 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6], f4)


def scale_factors(raw, kind):
    """Bytes as scale factors, float64: "ue8m0" powers of two, or "ue4m3"."""
    if kind == "ue4m3":
        return FP8["e4m3"][raw & u1(127)].astype(f8)
    return np.where(raw == 255, np.nan, np.ldexp(f8(1), raw.astype(np.int32) - 127))


def to_ue8m0(x, mode):
    """The exponents of powers of two (u2), by "rz" or "rp" of the size; saturating, and 255 for NaN."""
    fraction, exponent = np.frexp(np.abs(np.asarray(x).astype(f8)))
    up = (fraction > 0.5) & (mode == "rp")
    code = np.where(fraction == 0, 0, np.where(np.isinf(fraction), 254, exponent + 126 + up))
    return np.where(np.isnan(fraction), 255, np.clip(code, 0, 254)).astype(u2)


def product_in_order(left, right):
    """left @ right of float64, from left to right: BLAS adds in an order of the CPU, and rounds once or twice by it."""
    total = left[..., :1] * right[..., :1, :]
    for place in range(1, left.shape[-1]):
        total = total + left[..., place : place + 1] * right[..., place : place + 1, :]
    return total


def to_fp8(x, kind):
    """To fp8 bits (u1), to nearest even, saturating to the largest number; NaN is 0x7F."""
    values = FP8[kind][:128].astype(f8)
    codes = np.flatnonzero(np.isfinite(values))
    values = values[codes]
    size = np.abs(np.asarray(x).astype(f8))
    above = np.clip(np.searchsorted(values, size), 1, len(values) - 1)
    low, high = values[above - 1], values[above]
    middle = (low + high) / 2
    up = (size > middle) | ((size == middle) & (codes[above] % 2 == 0))
    code = np.where(up, codes[above], codes[above - 1])
    nan = np.isnan(x)
    code = np.where(nan, 127, code)
    return (code | np.where(np.signbit(x) & ~nan, 128, 0)).astype(u1)


def pairs_fp8(bits, kind):
    """fp8x2 bits (u2) to float32 values (…, 2)."""
    return FP8[kind][np.ascontiguousarray(bits)[..., None].view(u1)]


def pack_fp8(x, kind):
    """Values (…, 2) to fp8x2 bits."""
    return np.ascontiguousarray(to_fp8(x, kind)).view(u2)[..., 0]
