"""Floats of 8 bits and fewer: fp8 and bf8 in both kinds, fp6, bf6 and fp4."""

import numpy as np

u1 = np.uint8
f4, f8 = np.float32, np.float64
# Targets whose 8-bit floats have no negative zero and no infinity (FNUZ); elsewhere they are those of OCP.
FNUZ_TARGETS = ("gfx940", "gfx941", "gfx942")


def _table(exponent_bits, mantissa_bits, bias, fnuz, inf):
    out = np.zeros(256, f4)
    for code in range(256):
        sign, mantissa = code >> 7, code & (1 << mantissa_bits) - 1
        exponent = code >> mantissa_bits & (1 << exponent_bits) - 1
        if exponent == 0:
            value = mantissa * 2.0 ** (1 - bias - mantissa_bits)
        else:
            value = (1 + mantissa / (1 << mantissa_bits)) * 2.0 ** (exponent - bias)
        if fnuz:
            value = np.nan if code == 0x80 else value
        elif inf and exponent == (1 << exponent_bits) - 1:
            value = np.inf if mantissa == 0 else np.nan
        elif not inf and code & 0x7F == 0x7F:
            value = np.nan
        out[code] = -value if sign else value
    return out


# By (format, whether the target has the formats without a negative zero).
FP8 = {
    ("fp8", True): _table(4, 3, 8, True, False), ("bf8", True): _table(5, 2, 16, True, False),
    ("fp8", False): _table(4, 3, 7, False, False), ("bf8", False): _table(5, 2, 15, False, True),
}  # fmt: skip


def _small_table(exponent_bits, mantissa_bits, bias):
    """All codes of a format without infinity and NaN, in order."""
    out = []
    for code in range(1 << (exponent_bits + mantissa_bits)):
        exponent, mantissa = code >> mantissa_bits, code & (1 << mantissa_bits) - 1
        value = mantissa * 2.0 ** (1 - bias - mantissa_bits)
        if exponent:
            value = (1 + mantissa / (1 << mantissa_bits)) * 2.0 ** (exponent - bias)
        out.append(value)
    return np.array(out + [-value for value in out], f4)


SMALL = {"fp4": _small_table(2, 1, 1), "fp6": _small_table(2, 3, 1), "bf6": _small_table(3, 2, 3)}
BITS = {"fp4": 4, "fp6": 6, "bf6": 6, "fp8": 8, "bf8": 8}


def unpacked(words, kind):
    """Values of fp4, fp6 or bf6 that lie behind each other in words (…, words): (…, values)."""
    width = BITS[kind]
    bits = np.unpackbits(np.ascontiguousarray(words).view(u1), axis=-1, bitorder="little")
    count = bits.shape[-1] // width
    fields = bits[..., : count * width].reshape(*bits.shape[:-1], count, width)
    codes = (fields << np.arange(width, dtype=u1)).sum(-1)
    return SMALL[kind][codes]


def from_fp8(codes, kind, fnuz):
    """Bits as float32."""
    return FP8[kind, fnuz][codes]


def to_fp8(value, kind, fnuz, saturate=True):
    """float32 to bits, to nearest even. Numbers that are too large become the largest one, or without `saturate`
    infinity where the format has it and NaN elsewhere."""
    table = FP8[kind, fnuz]
    positive = np.arange(128)[np.isfinite(table[:128])]
    grid = table[positive].astype(f8)
    size = np.abs(value.astype(f8))
    place = np.clip(np.searchsorted(grid, size, "right") - 1, 0, len(grid) - 1)
    above = np.minimum(place + 1, len(grid) - 1)
    low, high = size - grid[place], grid[above] - size
    up = (low > high) | (low == high) & (positive[place] & 1 == 1)
    code = np.where(up, positive[above], positive[place])
    sign = np.signbit(value)
    code = np.where(sign & ~((code == 0) & fnuz), code | 0x80, code)
    nan = 0x80 if fnuz else 0x7F
    code = np.where(np.isnan(value), nan, code)
    if not saturate:
        half = grid[-1] + (grid[-1] - grid[-2]) / 2
        # The number in the middle goes to the even neighbour.
        over = size >= half if positive[-1] & 1 else size > half
        code = np.where(over, nan if (fnuz or kind == "fp8") else (0x7C | sign * 0x80), code)
    return code.astype(u1)


def _power_of(scale):
    """The power of two that the exponent field of a float32 says; its largest one is NaN."""
    code = ((scale.view(np.uint32) >> np.uint32(23)) & np.uint32(255)).astype(np.int32)
    return np.where(code == 255, np.nan, np.ldexp(1.0, code - 127))


def from_scaled(codes, kind, scale, wide):
    """Codes of OCP's formats times a scale, as float32 that holds a number of `wide`."""
    table = SMALL[kind] if kind in SMALL else FP8[kind, False]
    value = table[codes].astype(f8) * _power_of(scale)
    return value.astype(np.float16).astype(f4) if wide == "f16" else value.astype(f4)


def to_scaled(value, kind, scale):
    """float32 divided by a scale as codes of OCP's formats, to nearest even, in uint32."""
    value = value.astype(f8) / _power_of(scale)
    if kind in SMALL:
        return _to_small(value, kind).astype(np.uint32)
    return to_fp8(value, kind, False, False).astype(np.uint32)


def _to_small(value, kind):
    """To a format without infinity and NaN: what is too large becomes the largest number, and so does NaN."""
    half = len(SMALL[kind]) // 2
    grid = SMALL[kind][:half].astype(f8)
    size = np.minimum(np.nan_to_num(np.abs(value), nan=np.inf), grid[-1])
    place = np.clip(np.searchsorted(grid, size, "right") - 1, 0, half - 1)
    above = np.minimum(place + 1, half - 1)
    low, high = size - grid[place], grid[above] - size
    up = (low > high) | (low == high) & (place & 1 == 1)
    return np.where(up, above, place) + np.where(np.signbit(value), half, 0)
