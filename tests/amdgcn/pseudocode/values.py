"""Values of AMD's pseudo-code, and the functions that it calls by name."""

import math
import re
from fractions import Fraction

from .floats import (
    FORMATS,
    FORMATS_BIAS,
    Failed,
    decode,
    encode,
    f_add,
    f_mul,
    f_neg,
    is_nan,
    number,
)

# ---------------------------------------------------------------- values


class Int:
    def __init__(self, value, width=32, signed=True):
        self.value, self.width, self.signed = int(value), width, signed

    def raw(self, width):
        return self.value & ((1 << width) - 1)


class Float:
    def __init__(self, value, width=32, exact=None):
        """Rounded to its width."""
        self.width = width
        self.bits = exact if exact is not None else encode(value, width)
        self.value = decode(self.bits, width)

    def raw(self, width):
        return self.bits


class Bits:
    """A register, or a part of one."""

    def __init__(self, value, width):
        self.value, self.width = value & ((1 << width) - 1), width

    def raw(self, width):
        return self.value & ((1 << width) - 1)


class Memory:
    """Bytes from address 0 on."""

    def __init__(self, data):
        self.data = bytearray(data)

    def read(self, address, width):
        return int.from_bytes(self.data[address : address + width // 8], "little")

    def write(self, address, width, raw):
        self.data[address : address + width // 8] = raw.to_bytes(width // 8, "little")


def typed(raw, kind):
    found = re.fullmatch(r"(bf|fp|bf|f|u|i|b)(\d+)", kind)
    letter, width = found.group(1), int(found.group(2))
    raw &= (1 << width) - 1
    if kind in ("fp8", "bf8"):
        return Bits(raw, 8)
    if kind == "bf16":
        return Float(None, 32, raw << 16)
    if letter == "f":
        return Float(None, width, raw)
    if letter == "i":
        return Int(raw - (1 << width) if raw >> (width - 1) else raw, width, True)
    return Int(raw, width, False) if letter == "u" else Bits(raw, width)


class Wide:
    """An exact power of two."""

    def __init__(self, value):
        if value is None:
            raise Failed("a power of another base")
        self.value, self.width = value, 64


class Exact(Float):
    """A quotient that remembers what it was before it was rounded."""

    def __init__(self, value, width):
        super().__init__(value, width)
        self.value = value


def number_of(value):
    return value.value


def truth(value):
    if isinstance(value, Float):
        return number(value.value) != 0
    return value.value != 0


def as_int(value):
    if isinstance(value, Float):
        raise Failed("a float as an integer")
    return value.value


def as_float(value, other):
    if isinstance(value, Float):
        return value
    return Float(Fraction(value.value), other.width)


def cast(word, value):
    width, kind = word.split("'")
    width = int(width)
    if kind == "F":
        if isinstance(value, Float):
            if value.width != width and value.value == "snan":
                # As the text means it: a signalling NaN is one in the wider format too.
                mantissa, wide = FORMATS[value.width][1], FORMATS[width][1]
                sign = value.bits >> (value.width - 1) << (width - 1)
                payload = (
                    (value.bits & ((1 << mantissa) - 1))
                    << max(0, wide - mantissa)
                    >> max(0, mantissa - wide)
                )
                return Float(None, width, sign | ((1 << FORMATS[width][0]) - 1) << wide | payload)
            return Float(value.value, width) if value.width != width else value
        if isinstance(value, Bits):
            return Float(None, width, value.raw(width))
        if isinstance(value, Int) and value.width == 64 and value.value in (0xFFC00000,):
            return Float(None, 32, value.value)
        return Float(Fraction(as_int(value)), width)
    if isinstance(value, Float):
        return typed(value.raw(width), f"{'i' if kind == 'I' else 'u'}{width}")
    raw = value.value & ((1 << width) - 1)
    if kind == "I" and raw >> (width - 1):
        raw -= 1 << width
    return Int(raw, width, kind == "I")


def _to_int(low, high, width):
    def convert(value):
        x = value.value
        if is_nan(x):
            return Int(0, width)
        if isinstance(x, str):
            return Int({"inf": high, "-inf": low, "-0": 0}[x], width)
        return Int(min(max(int(x), low), high), width)

    return convert


def _saturated(low, high, width):
    return lambda value: Int(min(max(value.value, low), high), width, low < 0)


def _rounded(function):
    def apply(value):
        x = value.value
        if isinstance(x, str):
            return value
        result = function(x)
        if result == 0 and x < 0:
            return Float("-0", value.width)
        return Float(Fraction(result), value.width)

    return apply


def _sign_extend(value, bit):
    width = bit.value
    if width == 0:
        return Int(0)
    raw = value.value & ((1 << width) - 1)
    return Int(raw - (1 << width) if raw >> (width - 1) else raw, 64)


def _abs(value):
    if isinstance(value, Float):
        return Float(None, value.width, value.bits & ~(1 << (value.width - 1)))
    return Int(abs(value.value), value.width)


def _mantissa(value):
    mantissa = FORMATS[value.width][1]
    kept = value.bits & ((1 << (value.width - 1)) | ((1 << mantissa) - 1))
    return Float(None, value.width, kept | (FORMATS_BIAS[value.width] - 1) << mantissa)


def _quiet(value):
    return Float(None, value.width, value.bits | 1 << (FORMATS[value.width][1] - 1))


def _fma(a, b, c):
    return Float(f_add(f_mul(a.value, b.value), c.value), a.width)


def _ldexp(value, exponent):
    return Float(
        f_mul(value.value, Fraction(2) ** max(-5000, min(5000, exponent.value))), value.width
    )


def _to_bf16(value):
    if is_nan(value.value):
        return Bits(value.bits >> 16 | 0x40, 16)
    return Bits(encode(value.value, 16, (8, 7)), 16)


def _address(address, *_):
    """The texts leave to other chapters how an address is made."""
    return Int(address.value, 64)


def _power(_, value):
    x = value.value
    if isinstance(x, str):
        return Float(
            {"inf": "inf", "-inf": Fraction(0), "-0": Fraction(1)}.get(x, "nan"), value.width
        )
    if abs(x) > 300:
        return Float("inf" if x > 0 else Fraction(0), value.width)
    return Float(Fraction(2.0 ** float(x)), value.width)


def _sqrt(value):
    x = value.value
    if isinstance(x, str) or x < 0:
        return Float(x if x in ("inf", "-0") else "nan", value.width)
    return Float(Fraction(math.sqrt(x)), value.width)


def _log2(value):
    x = value.value
    if isinstance(x, str) or x <= 0:
        found = {"inf": "inf", "-0": "-inf"}.get(x, "nan") if isinstance(x, str) else "nan"
        return Float("-inf" if x == 0 else found, value.width)
    return Float(Fraction(math.log2(x)), value.width)


FUNCTIONS = {
    "CalcDsAddr": _address, "CalcGlobalAddr": _address, "CalcBufferAddr": _address,
    "CalcScalarGlobalAddr": _address, "pow": _power, "log2": _log2,
    "fma": _fma, "ldexp": _ldexp, "isNAN": lambda v: Int(is_nan(v.value), 1),
    "isSignalNAN": lambda v: Int(v.value == "snan", 1), "isQuietNAN": lambda v: Int(v.value == "nan", 1),
    "cvtToQuietNAN": _quiet, "sign": lambda v: Int(v.bits >> (v.width - 1), 1),
    "exponent": lambda v: Int(v.bits >> FORMATS[v.width][1] & ((1 << FORMATS[v.width][0]) - 1), 32),
    "abs": _abs,
    "floor": _rounded(math.floor), "trunc": _rounded(math.trunc), "ceil": _rounded(math.ceil),
    "f32_to_i32": _to_int(-(2**31), 2**31 - 1, 32), "f32_to_u32": _to_int(0, 2**32 - 1, 32),
    "f64_to_i32": _to_int(-(2**31), 2**31 - 1, 32), "f64_to_u32": _to_int(0, 2**32 - 1, 32),
    "i32_to_i16": _saturated(-(2**15), 2**15 - 1, 16), "u32_to_u16": _saturated(0, 2**16 - 1, 16),
    "v_cvt_i16_f32": _to_int(-(2**15), 2**15 - 1, 16), "v_cvt_u16_f32": _to_int(0, 2**16 - 1, 16),
    "f16_to_i16": _to_int(-(2**15), 2**15 - 1, 16), "f16_to_u16": _to_int(0, 2**16 - 1, 16),
    "i32_to_f32": lambda v: Float(Fraction(v.value), 32), "u32_to_f32": lambda v: Float(Fraction(v.value), 32),
    "i32_to_f64": lambda v: Float(Fraction(v.value), 64), "u32_to_f64": lambda v: Float(Fraction(v.value), 64),
    "i16_to_f16": lambda v: Float(Fraction(v.value), 16), "u16_to_f16": lambda v: Float(Fraction(v.value), 16),
    "f16_to_f32": lambda v: Float(v.value, 32), "f32_to_f16": None, "f64_to_f32": lambda v: Float(v.value, 32),
    "f32_to_f64": lambda v: Float(v.value, 64), "f32_to_bf16": _to_bf16, "bf16_to_f32": lambda v: v,
    "signext_from_bit": _sign_extend, "signext": lambda v: Int(v.value, 64),
    "isEven": lambda v: Int(not isinstance(v.value, str) and v.value % 2 == 0, 1),
    "fract": lambda v: Float(f_add(v.value, f_neg(_rounded(math.floor)(v).value)), v.width),
    "mantissa": _mantissa,
    "sqrt": _sqrt, "i8_to_i32": lambda v: Int(v.value),
}  # fmt: skip
