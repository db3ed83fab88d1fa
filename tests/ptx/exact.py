"""Exact arithmetic: numbers as fractions, rounded once to a binary format. Slow, and obviously right."""

import math
from dataclasses import dataclass
from fractions import Fraction

import ml_dtypes
import numpy as np


@dataclass(frozen=True)
class Format:
    """A binary float: `precision` bits with the hidden one, exponents of normal numbers from `low` to `high`."""

    name: str
    dtype: type
    raw: type
    precision: int
    low: int
    high: int


F16 = Format("f16", np.float16, np.uint16, 11, -14, 15)
BF16 = Format("bf16", ml_dtypes.bfloat16, np.uint16, 8, -126, 127)
F32 = Format("f32", np.float32, np.uint32, 24, -126, 127)
F64 = Format("f64", np.float64, np.uint64, 53, -1022, 1023)


def values_of(raw, form):
    """Raw bits as Python floats: every format here fits into one."""
    return [float(value) for value in raw.view(form.dtype)]


def _nearest(number, divisor, mode, negative):
    """The integer next to `number / divisor`, which is not negative."""
    below, rest = divmod(number, divisor)
    if rest == 0:
        return below
    if mode == "rn":
        return below + (2 * rest > divisor or 2 * rest == divisor and below % 2 == 1)
    if mode == "rna":
        return below + (2 * rest >= divisor)
    if mode == "rz":
        return below
    return below + (negative == (mode == "rm"))


def _over(number, divisor, power):
    """`number / divisor / 2**power`, as two integers again."""
    return (number, divisor << power) if power >= 0 else (number << -power, divisor)


def rounded(number, form, mode="rn", zero_sign=1.0):
    """A Fraction in the format, as a Python float; `zero_sign` is the sign of an exact zero."""
    if number == 0:
        return math.copysign(0.0, zero_sign)
    negative = number < 0
    # Integers: with fractions it takes five times as long.
    size, divisor = abs(number.numerator), number.denominator
    exponent = size.bit_length() - divisor.bit_length()
    above, below = _over(size, divisor, exponent)
    if above < below:
        exponent -= 1
    # The power of two of the last place.
    place = max(exponent, form.low) - form.precision + 1
    result = _nearest(*_over(size, divisor, place), mode, negative)
    if result.bit_length() + place > form.high + 1:
        toward_zero = mode == "rz" or mode == ("rp" if negative else "rm")
        largest = math.ldexp((1 << form.precision) - 1, form.high - form.precision + 1)
        result = largest if toward_zero else math.inf
    else:
        result = math.ldexp(result, place)
    return -result if negative else result


def add(a, b, form, mode="rn"):
    if not (math.isfinite(a) and math.isfinite(b)):
        return a + b
    total = Fraction(a) + Fraction(b)
    sign = -1.0 if mode == "rm" else 1.0
    if a == 0 and b == 0 and math.copysign(1, a) == math.copysign(1, b):
        sign = math.copysign(1, a)
    return rounded(total, form, mode, sign)


def multiply(a, b, form, mode="rn"):
    if not (math.isfinite(a) and math.isfinite(b)):
        return a * b
    return rounded(Fraction(a) * Fraction(b), form, mode, math.copysign(1, a) * math.copysign(1, b))


def fused(a, b, c, form, mode="rn"):
    if not (math.isfinite(a) and math.isfinite(b)):
        return a * b + c
    if not math.isfinite(c):
        return c
    product = Fraction(a) * Fraction(b)
    sign = -1.0 if mode == "rm" else 1.0
    if product == 0 and c == 0 and math.copysign(1, a) * math.copysign(1, b) == math.copysign(1, c):
        sign = math.copysign(1, c)
    return rounded(product + Fraction(c), form, mode, sign)


def divide(a, b, form):
    if math.isnan(a) or math.isnan(b) or math.isinf(a) and math.isinf(b) or a == 0 and b == 0:
        return math.nan
    sign = math.copysign(1, a) * math.copysign(1, b)
    if math.isinf(a) or b == 0:
        return math.copysign(math.inf, sign)
    if math.isinf(b):
        return math.copysign(0.0, sign)
    return rounded(Fraction(a) / Fraction(b), form, "rn", sign)


def square_root(a, form):
    if math.isnan(a) or a < 0:
        return math.nan
    if a == 0 or math.isinf(a):
        return a
    # An integer root with many bits to spare, its last bit odd where it is inexact.
    shift = 1200
    number = Fraction(a) * Fraction(2) ** (2 * shift)
    whole = number.numerator // number.denominator
    root = math.isqrt(whole)
    if root * root != number:
        root |= 1
    return rounded(Fraction(root) / Fraction(2) ** shift, form)


def flushed(x):
    """Denormal float32 numbers to zeros of their sign."""
    return math.copysign(0.0, x) if 0 < abs(x) < 2.0**-126 else x


def raw_of(values, form):
    """Python floats that the format holds exactly, as raw bits."""
    with np.errstate(all="ignore"):
        return np.array(values, np.float64).astype(form.dtype).view(form.raw)


def edges(form):
    """Raw bits of what goes wrong first: zeros, denormals, ties, the largest, infinities, NaN."""
    one = 1 << (form.precision - 1)
    fraction = one - 1
    bias = form.high
    inf = (2 * form.high + 1) << (form.precision - 1)
    positive = [
        0, 1, 2, 3, fraction, fraction - 1, one, one + 1, bias * one, bias * one + 1, bias * one - 1,
        (bias + 1) * one, (bias + 1) * one + fraction, (bias + form.precision - 1) * one + 1,
        (bias - form.precision) * one, (bias - form.precision + 1) * one, inf - 1, inf - one, inf, inf + one // 2,
    ]  # fmt: skip
    sign = 1 << (8 * np.dtype(form.raw).itemsize - 1)
    return np.array(positive + [sign | value for value in positive], form.raw)


def pairs(form, count=640, seed=1, operands=2):
    """`operands` arrays of raw bits: edges with edges, then neighbours of each other, then anything."""
    random = np.random.default_rng(seed)
    edge = edges(form)
    width = np.dtype(form.raw).itemsize * 8
    columns = []
    for _ in range(operands):
        some = random.choice(edge, count)
        wild = random.integers(0, 1 << width, count, np.uint64, endpoint=False).astype(form.raw)
        # Exponents near one, so that sums do not simply forget an operand.
        near = form.high + random.integers(-form.precision, form.precision, count)
        fraction = random.integers(0, 1 << (form.precision - 1), count, np.uint64)
        tame = (near.astype(np.uint64) << np.uint64(form.precision - 1)) | fraction
        tame = tame.astype(form.raw) | (
            random.integers(0, 2, count, np.uint64) << np.uint64(width - 1)
        ).astype(form.raw)
        kind = np.arange(count) % 3
        columns.append(np.where(kind == 0, some, np.where(kind == 1, tame, wild)))
    return columns
