"""Integer arithmetic that numpy lacks: PTX's shifts, divisions by zero, bit fields, byte permutes."""

import numpy as np

from .types import RAW, i4, i8, u1, u4, u8


def divide(a, b):
    """Toward zero. By zero: all ones, as a device does."""
    zero = b == 0
    by = np.where(zero, b.dtype.type(1), b)
    if a.dtype.kind == "u":
        return np.where(zero, a.dtype.type(-1 & (1 << 8 * a.dtype.itemsize) - 1), a // by)
    quotient = a // by
    # numpy rounds down.
    short = (quotient * by != a) & ((a < 0) != (by < 0))
    return np.where(zero, a.dtype.type(-1), quotient + short.astype(a.dtype))


def remainder(a, b):
    """With the sign of a. By zero: a."""
    zero = b == 0
    by = np.where(zero, b.dtype.type(1), b)
    return np.where(zero, a, np.fmod(a, by))


def multiply_high(a, b):
    """The upper half of the product."""
    size = a.dtype.itemsize
    if size < 8:
        wide = np.dtype(f"{a.dtype.kind}{2 * size}")
        return ((a.astype(wide) * b.astype(wide)) >> wide.type(8 * size)).astype(a.dtype)
    x, y, low, half = a.view(u8), b.view(u8), u8(0xFFFFFFFF), u8(32)
    xl, xh, yl, yh = x & low, x >> half, y & low, y >> half
    middle = xh * yl + ((xl * yl) >> half)
    high = xh * yh + (middle >> half) + ((xl * yh + (middle & low)) >> half)
    if a.dtype.kind == "i":
        high = high - np.where(a < 0, y, u8(0)) - np.where(b < 0, x, u8(0))
    return high.view(a.dtype)


def carried(a, b, carry=None):
    """Return a + b + carry in, unsigned; and the carry out, 0 or 1 of the same type."""
    total = a + b
    out = total < a
    if carry is not None:
        total = total + carry
        out = out | (total < carry)
    return total, out.astype(total.dtype)


def borrowed(a, b, borrow=None):
    """Return a - b - borrow in, unsigned; and the borrow out, 0 or 1 of the same type."""
    total = a - b
    out = a < b
    if borrow is not None:
        out = out | (total < borrow)
        total = total - borrow
    return total, out.astype(total.dtype)


def saturated(x, to):
    """Integer x of any type into the range of `to`."""
    bounds = np.iinfo(to)
    if x.dtype.kind == "u":
        top = min(bounds.max, np.iinfo(x.dtype).max)
        return np.minimum(x, x.dtype.type(top)).astype(to)
    own = np.iinfo(x.dtype)
    low, high = max(bounds.min, own.min), min(bounds.max, own.max)
    return np.clip(x, x.dtype.type(low), x.dtype.type(high)).astype(to)


def shift_left(a, n):
    width = 8 * a.dtype.itemsize
    some = np.minimum(n, u4(width - 1)).astype(a.dtype)
    return np.where(n >= u4(width), a.dtype.type(0), a << some)


def shift_right(a, n):
    """Logical for an unsigned a, else arithmetic."""
    width = 8 * a.dtype.itemsize
    shifted = a >> np.minimum(n, u4(width - 1)).astype(a.dtype)
    if a.dtype.kind == "i":
        return shifted
    return np.where(n >= u4(width), a.dtype.type(0), shifted)


def funnel_shift(low, high, n, left, wrap):
    both = low.astype(u8) | (high.astype(u8) << u8(32))
    n = (n & u4(31) if wrap else np.minimum(n, u4(32))).astype(u8)
    return ((both << n) >> u8(32) if left else both >> n).astype(u4)


def lop3(a, b, c, table):
    """The truth table's bit 4 * a + 2 * b + c."""
    result = None
    for row in range(8):
        if table >> row & 1:
            term = (a if row & 4 else ~a) & (b if row & 2 else ~b) & (c if row & 1 else ~c)
            result = term if result is None else result | term
    return np.zeros((1, 1), u4) if result is None else result


def bit_field(a, position, length):
    """bfe: `length` bits from `position`, sign extended where a is signed."""
    width = 8 * a.dtype.itemsize
    position, length = (position & u4(255)).astype(i8), (length & u4(255)).astype(i8)
    if a.dtype.kind == "u":
        mask = np.where(length >= 64, ~u8(0), (u8(1) << np.minimum(length, 63).astype(u8)) - u8(1))
        shifted = np.where(
            position >= 64, u8(0), a.astype(u8) >> np.minimum(position, 63).astype(u8)
        )
        return (shifted & mask).astype(a.dtype)
    # The sign bit is that of the field's highest bit inside of the register.
    top = np.minimum(position + length, width)
    wide = a.astype(i8)
    filled = (wide << (64 - np.maximum(top, 1))) >> np.minimum(
        64 - np.maximum(top, 1) + np.minimum(position, top), 63
    )
    return np.where(length == 0, 0, filled).astype(a.dtype)


def insert_bit_field(a, b, position, length):
    """bfi: the low `length` bits of a at `position` of b."""
    width = 8 * a.dtype.itemsize
    position, length = (position & u4(255)).astype(u8), (length & u4(255)).astype(u8)
    ones = np.where(length >= u8(64), ~u8(0), (u8(1) << np.minimum(length, u8(63))) - u8(1))
    some = np.minimum(position, u8(63))
    beyond = position >= u8(64)
    mask = np.where(beyond, u8(0), ones << some)
    placed = np.where(beyond, u8(0), a.astype(u8) << some)
    return ((b.astype(u8) & ~mask) | (placed & mask)).astype(RAW[width])


def permute(a, b, selector):
    """prmt in its default mode: each nibble of the selector picks a byte, or its sign eight times."""
    a, b, selector = np.broadcast_arrays(a, b, selector)
    source = np.stack([a, b], -1).view(u1)
    out = np.zeros(a.shape + (4,), u1)
    for place in range(4):
        nibble = (selector >> u4(4 * place)) & u4(15)
        byte = np.take_along_axis(source, (nibble & u4(7)).astype(np.intp)[..., None], -1)[..., 0]
        out[..., place] = np.where(nibble & u4(8), np.where(byte & 0x80, 255, 0), byte)
    return out.view(u4)[..., 0]


def permute_constant(a, b, selector):
    """prmt with a selector that is known when the program is lowered: shifts and masks alone."""
    result = None
    for place in range(4):
        nibble = selector >> 4 * place & 15
        source, byte = (a, b)[nibble >> 2 & 1], nibble & 3
        part = (source >> u4(8 * byte)) & u4(255)
        if nibble & 8:
            part = (part >> u4(7)) * u4(255)
        part = part << u4(8 * place)
        result = part if result is None else result | part
    return result


def _bits(x):
    return np.unpackbits(np.ascontiguousarray(x)[..., None].view(u1), axis=-1, bitorder="little")


def population(x):
    return _bits(x).sum(-1).astype(u4)


def leading_zeros(x):
    bits = _bits(x)[..., ::-1]
    return np.where(x == 0, bits.shape[-1], bits.argmax(-1)).astype(u4)


def highest_bit(x):
    """bfind: index of the highest bit that is not the sign; all ones where there is none."""
    value = np.where(x < 0, ~x, x) if x.dtype.kind == "i" else x
    bits = _bits(value)[..., ::-1]
    index = bits.shape[-1] - 1 - bits.argmax(-1)
    return np.where(value == 0, -1, index).astype(i4).view(u4)


def shift_to_top(index, width):
    """bfind.shiftamt: how far the bit that was found lies below the top."""
    none = index == u4(0xFFFFFFFF)
    return np.where(none, index, u4(width - 1) - index)


def reversed_bits(x):
    bits = np.ascontiguousarray(_bits(x)[..., ::-1])
    return np.packbits(bits, axis=-1, bitorder="little").view(x.dtype)[..., 0]


def absolute_difference(a, b):
    return np.where(a > b, a - b, b - a)


def halves_u16(bits, kind):
    """u16x2 or s16x2 bits to values (…, 2)."""
    return np.ascontiguousarray(bits)[..., None].view(f"{'u' if kind[0] == 'u' else 'i'}2")


def pack_u16(x):
    return np.ascontiguousarray(x).view(u4)[..., 0]


def dot_product(a, b, c, signed_a, signed_b):
    """dp4a: four products of bytes and a sum."""
    a, b = np.broadcast_arrays(a, b)
    x = np.ascontiguousarray(a)[..., None].view(np.int8 if signed_a else u1).astype(i8)
    y = np.ascontiguousarray(b)[..., None].view(np.int8 if signed_b else u1).astype(i8)
    return ((x * y).sum(-1) + c).astype(i8).astype(u4)


def quad(low, high):
    """128 bits of two words of 64."""
    return np.stack(np.broadcast_arrays(low, high), -1).view("V16")[..., 0]
