"""Floats of AMD's pseudo-code: a kind and an exact fraction, rounded once.

Nothing of the emulator is used here.
"""

import math
from fractions import Fraction

# Bits of a float -> bits of its exponent and of its mantissa.
FORMATS = {16: (5, 10), 32: (8, 23), 64: (11, 52)}
FORMATS_BIAS = {16: 15, 32: 127, 64: 1023}


class Failed(RuntimeError):
    """A construct that is not known here."""


# ---------------------------------------------------------------- floats as (kind, value)


def decode(raw, width, form=None):
    """Bits -> float: a Fraction, or one of the strings nan, snan, inf, -inf; -0 is the string -0."""
    exponent_bits, mantissa_bits = form or FORMATS[width]
    sign = raw >> (exponent_bits + mantissa_bits) & 1
    exponent = raw >> mantissa_bits & ((1 << exponent_bits) - 1)
    mantissa = raw & ((1 << mantissa_bits) - 1)
    bias = (1 << (exponent_bits - 1)) - 1
    if exponent == (1 << exponent_bits) - 1:
        if mantissa:
            return "nan" if mantissa >> (mantissa_bits - 1) else "snan"
        return "-inf" if sign else "inf"
    if exponent == 0:
        value = Fraction(mantissa) * Fraction(2) ** (1 - bias - mantissa_bits)
    else:
        value = (1 + Fraction(mantissa, 1 << mantissa_bits)) * Fraction(2) ** (exponent - bias)
    if value == 0:
        return "-0" if sign else Fraction(0)
    return -value if sign else value


def encode(value, width, form=None, toward_zero=False):
    exponent_bits, mantissa_bits = form or FORMATS[width]
    bias = (1 << (exponent_bits - 1)) - 1
    top = ((1 << exponent_bits) - 1) << mantissa_bits
    if isinstance(value, str):
        minus = 1 << (exponent_bits + mantissa_bits)
        quiet = top | 1 << (mantissa_bits - 1)
        return {"nan": quiet, "snan": quiet, "inf": top, "-inf": top | minus, "-0": minus}[value]
    sign = int(value < 0) << (exponent_bits + mantissa_bits)
    size = abs(Fraction(value))
    if size == 0:
        return sign
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    if Fraction(2) ** exponent > size:
        exponent -= 1
    exponent = max(exponent, 1 - bias)
    scaled = size / Fraction(2) ** (exponent - mantissa_bits)
    whole = int(scaled) if toward_zero else round(scaled)
    # Rounding may carry into the exponent, which the sum does by itself.
    if whole < (1 << mantissa_bits):
        raw = whole
    else:
        raw = whole + ((exponent + bias - 1) << mantissa_bits)
    if raw >= top:
        raw = top - 1 if toward_zero else top
    return sign | raw


def number(value):
    return Fraction(0) if value == "-0" else value


def is_nan(value):
    return value in ("nan", "snan")


def negative(value):
    return value in ("-inf", "-0") or not isinstance(value, str) and value < 0


def f_neg(value):
    if isinstance(value, str):
        return {"nan": "nan", "snan": "snan", "inf": "-inf", "-inf": "inf", "-0": Fraction(0)}[
            value
        ]
    return "-0" if value == 0 else -value


def f_add(a, b):
    if is_nan(a) or is_nan(b) or {a, b} == {"inf", "-inf"}:
        return "nan"
    for one in (a, b):
        if one in ("inf", "-inf"):
            return one
    if a == "-0" and b == "-0":
        return "-0"
    return number(a) + number(b)


def f_mul(a, b):
    if is_nan(a) or is_nan(b):
        return "nan"
    sign = negative(a) ^ negative(b)
    if "inf" in (a, b) or "-inf" in (a, b):
        if number(a) == 0 or number(b) == 0:
            return "nan"
        return "-inf" if sign else "inf"
    product = number(a) * number(b)
    return "-0" if product == 0 and sign else product


def f_div(a, b):
    if is_nan(a) or is_nan(b):
        return "nan"
    sign = negative(a) ^ negative(b)
    infinite = [one in ("inf", "-inf") for one in (a, b)]
    if all(infinite) or number(a) == 0 and number(b) == 0 and not any(infinite):
        return "nan"
    if infinite[0] or not infinite[1] and number(b) == 0:
        return "-inf" if sign else "inf"
    if infinite[1] or number(a) == 0:
        return "-0" if sign else Fraction(0)
    return number(a) / number(b)


def f_less(a, b):
    if is_nan(a) or is_nan(b):
        return False
    order = {"-inf": -math.inf, "inf": math.inf, "-0": 0}
    return order.get(a, a) < order.get(b, b) if isinstance(a, str) or isinstance(b, str) else a < b


def f_equal(a, b):
    if is_nan(a) or is_nan(b):
        return False
    return number(a) == number(b)
