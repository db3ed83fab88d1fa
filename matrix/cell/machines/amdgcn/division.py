"""Steps of a float32 division: v_div_scale, v_div_fmas, v_div_fixup, and the last one of float16.

Where AMD's text and rows that were run on a GPU (tinygrad's, for RDNA3) differ, this follows the rows; docs/emulate.md
has the list.
"""

import numpy as np

from .floats import fma32

u4, i4 = np.uint32, np.int32
f2, f4, f8 = np.float16, np.float32, np.float64


def exponent32(value):
    """The biased exponent field."""
    return ((value.view(u4) >> u4(23)) & u4(0xFF)).astype(i4)


def div_scale32(s0, s1, s2):
    """(scaled, flag): s0 is the numerator or the denominator, s1 the denominator, s2 the numerator."""
    e1, e2 = exponent32(s1), exponent32(s2)
    tiny1 = (e1 == 0) & (s1 != 0)
    with np.errstate(all="ignore"):
        rcp_tiny = np.abs(1.0 / s1.astype(f8)) < 2.0**-126
        ratio = np.abs(s2.astype(f8) / s1.astype(f8))
        # The text says below the normal numbers; a row that was run says so of the smallest one as well.
        ratio_tiny = (ratio <= 2.0**-126) & (ratio != 0)
    up, down = np.ldexp(s0, 64).astype(f4), np.ldexp(s0, -64).astype(f4)
    same1, same2 = s0.view(u4) == s1.view(u4), s0.view(u4) == s2.view(u4)
    nan = (s1 == 0) | (s2 == 0)
    far = (e2 - e1) >= 96
    value = s0
    flag = np.zeros(np.broadcast(s0, s1, s2).shape, bool)
    # In the order of AMD's text, the last that applies is written first.
    value = np.where(e2 <= 23, up, value)
    value = np.where(ratio_tiny, np.where(same2, up, s0), value)
    flag = np.where(ratio_tiny, True, flag)
    both = rcp_tiny & ratio_tiny
    value = np.where(rcp_tiny, down, value)
    flag = np.where(rcp_tiny & ~both, False, flag)
    value = np.where(both, np.where(same1, down, s0), value)
    flag = np.where(both, True, flag)
    value = np.where(tiny1, up, value)
    flag = np.where(tiny1, False, flag)
    value = np.where(far, np.where(same1, up, s0), value)
    flag = np.where(far, True, flag)
    value = np.where(nan, f4(np.nan), value)
    flag = np.where(nan, True, flag)
    return value.astype(f4), flag


def div_fmas32(a, b, c, scale):
    """AMD's text says 2^32; rows that were run on RDNA3 say 2^64 or 2^-64, by the exponent of the addend."""
    plain = fma32(a, b, c)
    if not np.any(scale):
        return plain
    power = np.where(exponent32(c) > 127, 64, -64)
    return np.where(scale, np.ldexp(plain.astype(f8), power).astype(f4), plain)


def div_fixup32(q, d, n):
    """The quotient with the special cases of n / d put right."""
    sign = np.signbit(d) ^ np.signbit(n)
    one = np.where(sign, f4(-1), f4(1))
    e_n, e_d = exponent32(n), exponent32(d)
    # A quotient that could not be estimated was too large (rows run on RDNA3; the text does not say so).
    value = np.copysign(np.where(np.isnan(q), f4(np.inf), np.abs(q)), one)
    value = np.where((e_n - e_d) < -150, np.copysign(f4(0), one), value)
    zero = (d == 0) | np.isinf(n)
    value = np.where(zero, np.copysign(f4(np.inf), one), value)
    small = np.isinf(d) | (n == 0)
    value = np.where(small, np.copysign(f4(0), one), value)
    value = np.where((d == 0) & (n == 0) | np.isinf(d) & np.isinf(n), f4(np.nan), value)
    value = np.where(np.isnan(d), d, value)
    return np.where(np.isnan(n), n, value).astype(f4)


def div_fixup16(q, d, n):
    """The same of float16: only zeros, infinities and NaN change the quotient."""
    special = (d == 0) | (n == 0) | ~np.isfinite(d) | ~np.isfinite(n)
    fixed = (n.astype(f4) / d.astype(f4)).astype(f2)
    sign = np.signbit(n) ^ np.signbit(d)
    return np.where(special, fixed, np.copysign(np.abs(q), np.where(sign, f2(-1), f2(1))))
