"""Steps of a division of float32 and float64: v_div_scale, v_div_fmas, v_div_fixup, and the last one of float16.

Where AMD's text and rows that were run on a GPU (tinygrad's, for RDNA3) differ, this follows the rows; docs/emulate.md
has the list.
"""

from typing import Any, NamedTuple

import numpy as np

from .floats import fma32, fma64

u4, u8, i4 = np.uint32, np.uint64, np.int32
f2, f4, f8 = np.float16, np.float32, np.float64


class _Format(NamedTuple):
    """A float format: its types, its exponent field, and the limits that AMD's text names for it.

    Attributes:
        power: of two, by which an operand is scaled.
        far: exponents from which on a numerator is far above its denominator.
        tiny: the exponent field up to which a numerator is tiny.
        lost: exponents from which on a quotient is below all numbers.
    """

    kind: Any
    raw: Any
    mantissa: int
    bias: int
    power: int
    far: int
    tiny: int
    lost: int
    fma: Any

    def exponent(self, value):
        """The biased exponent field."""
        field = (value.view(self.raw) >> self.raw(self.mantissa)) & self.raw(2 * self.bias + 1)
        return field.astype(i4)


_F32 = _Format(f4, u4, 23, 127, 64, 96, 23, 150, fma32)
_F64 = _Format(f8, u8, 52, 1023, 128, 768, 53, 1075, fma64)


def _quotient_is_tiny(form, n, d):
    """Whether n / d is not above the smallest normal number, before it is rounded.

    The text says below the normal numbers; a row that was run says so of the smallest one as well.
    """
    (m_n, e_n), (m_d, e_d) = np.frexp(np.abs(n.astype(f8))), np.frexp(np.abs(d.astype(f8)))
    room = np.clip(1 - form.bias - (e_n - e_d), -3, 3)
    return (
        (m_n / m_d <= np.ldexp(1.0, room)) & (n != 0) & (d != 0) & np.isfinite(n) & np.isfinite(d)
    )


def _div_scale(form, s0, s1, s2):
    """(scaled, flag): s0 is the numerator or the denominator, s1 the denominator, s2 the numerator."""
    e1, e2 = form.exponent(s1), form.exponent(s2)
    tiny1 = (e1 == 0) & (s1 != 0)
    with np.errstate(all="ignore"):
        rcp_tiny = np.abs(s1) > form.kind(2.0) ** (form.bias - 1)
        ratio_tiny = _quotient_is_tiny(form, s2, s1)
        up = np.ldexp(s0, form.power).astype(form.kind)
        down = np.ldexp(s0, -form.power).astype(form.kind)
    same1, same2 = s0.view(form.raw) == s1.view(form.raw), s0.view(form.raw) == s2.view(form.raw)
    nan = (s1 == 0) | (s2 == 0)
    far = (e2 - e1) >= form.far
    value = s0
    flag = np.zeros(np.broadcast(s0, s1, s2).shape, bool)
    # In the order of AMD's text, the last that applies is written first.
    value = np.where(e2 <= form.tiny, up, value)
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
    value = np.where(nan, form.kind(np.nan), value)
    flag = np.where(nan, True, flag)
    return value.astype(form.kind), flag


def _div_fmas(form, a, b, c, scale):
    """AMD's text says 2^32 (2^64 of float64); rows that were run on RDNA3 say the power by which div_scale scales, up
    or down by the exponent of the addend."""
    plain = form.fma(a, b, c)
    if not np.any(scale):
        return plain
    power = np.where(form.exponent(c) > form.bias, form.power, -form.power)
    return np.where(scale, np.ldexp(plain.astype(f8), power).astype(form.kind), plain)


def _div_fixup(form, q, d, n):
    """The quotient with the special cases of n / d put right."""
    sign = np.signbit(d) ^ np.signbit(n)
    unit = np.where(sign, form.kind(-1), form.kind(1))
    # A quotient that could not be estimated was too large (rows run on RDNA3; the text does not say so).
    value = np.copysign(np.where(np.isnan(q), form.kind(np.inf), np.abs(q)), unit)
    lost = form.exponent(n) - form.exponent(d) < -form.lost
    value = np.where(lost, np.copysign(form.kind(0), unit), value)
    zero = (d == 0) | np.isinf(n)
    value = np.where(zero, np.copysign(form.kind(np.inf), unit), value)
    small = np.isinf(d) | (n == 0)
    value = np.where(small, np.copysign(form.kind(0), unit), value)
    value = np.where((d == 0) & (n == 0) | np.isinf(d) & np.isinf(n), form.kind(np.nan), value)
    value = np.where(np.isnan(d), d, value)
    return np.where(np.isnan(n), n, value).astype(form.kind)


def div_scale32(s0, s1, s2):
    return _div_scale(_F32, s0, s1, s2)


def div_scale64(s0, s1, s2):
    return _div_scale(_F64, s0, s1, s2)


def div_fmas32(a, b, c, scale):
    return _div_fmas(_F32, a, b, c, scale)


def div_fmas64(a, b, c, scale):
    return _div_fmas(_F64, a, b, c, scale)


def div_fixup32(q, d, n):
    return _div_fixup(_F32, q, d, n)


def div_fixup64(q, d, n):
    return _div_fixup(_F64, q, d, n)


def div_fixup16(q, d, n):
    """The same of float16: only zeros, infinities and NaN change the quotient."""
    special = (d == 0) | (n == 0) | ~np.isfinite(d) | ~np.isfinite(n)
    fixed = (n.astype(f4) / d.astype(f4)).astype(f2)
    sign = np.signbit(n) ^ np.signbit(d)
    return np.where(special, fixed, np.copysign(np.abs(q), np.where(sign, f2(-1), f2(1))))
