"""Bit fields, counts and permutes of bytes, on raw bits."""

from typing import Dict, Tuple

import numpy as np

u1, u2, u4, u8 = np.uint8, np.uint16, np.uint32, np.uint64
i4, i8 = np.int32, np.int64


def bfe(value, place):
    """The field of scalar code: its offset in the low bits of `place`, its width from bit 16 on."""
    offset, width = place & u4(31), (place >> u4(16)) & u4(127)
    mask = np.where(width >= 32, u4(0xFFFFFFFF), (u4(1) << (width & u4(31))) - u4(1))
    return (value >> offset) & mask


def bfe_signed(value, place):
    # The shift is arithmetic: a field that reaches beyond bit 31 is filled with the sign.
    width = (place >> u4(16)) & u4(127)
    field = value.view(i4) >> (place & u4(31)).view(i4)
    shift = np.where(width >= 32, u4(0), u4(32) - width).astype(u4) & u4(31)
    return np.where(width == 0, 0, (field.view(u4) << shift).view(i4) >> shift.view(i4)).astype(i4)


def bfe64(value, place):
    offset, width = (place & u4(63)).astype(u8), ((place >> u4(16)) & u4(127)).astype(u8)
    mask = np.where(width >= 64, u8(2**64 - 1), (u8(1) << (width & u8(63))) - u8(1))
    return (value >> offset) & mask


def bfe64_signed(value, place):
    width = ((place >> u4(16)) & u4(127)).astype(i8)
    field = value.view(i8) >> (place & u4(63)).astype(i8)
    shift = np.where(width >= 64, 0, 64 - width) & 63
    return np.where(width == 0, 0, (field.view(u8) << shift.astype(u8)).view(i8) >> shift)


def sum_of_differences(a, b, width):
    """The sum of |a - b| over the unsigned parts of `width` bits of two words."""
    mask = u4((1 << width) - 1)
    total = u4(0)
    for shift in range(0, 32, width):
        first, second = (a >> u4(shift)) & mask, (b >> u4(shift)) & mask
        total = total + np.where(first > second, first - second, second - first)
    return total


def field(value, offset, width):
    offset, width = offset & u4(31), width & u4(31)
    return (value >> offset) & ((u4(1) << width) - u4(1))


def signed_field(value, offset, width):
    offset, width = offset & u4(31), width & u4(31)
    shift = (u4(32) - width) & u4(31)
    field = (value.view(i4) >> offset.view(i4)).view(u4)
    return np.where(width == 0, i4(0), (field << shift).view(i4) >> shift.view(i4))


def reversed_bits(value):
    value = ((value >> u4(1)) & u4(0x55555555)) | ((value & u4(0x55555555)) << u4(1))
    value = ((value >> u4(2)) & u4(0x33333333)) | ((value & u4(0x33333333)) << u4(2))
    value = ((value >> u4(4)) & u4(0x0F0F0F0F)) | ((value & u4(0x0F0F0F0F)) << u4(4))
    return value.byteswap()


def counted(value):
    """How many bits are set."""
    raw = np.unpackbits(np.ascontiguousarray(value).view(u1), axis=-1)
    return raw.reshape(*value.shape, -1).sum(-1).astype(u4)


def leading(value, bits):
    """Zeros before the first set bit; all ones for 0."""
    count = np.zeros(value.shape, u4)
    rest, raw = value.copy(), value.dtype.type
    step = bits // 2
    while step:
        clear = (rest >> raw(bits - step)) == 0
        count += np.where(clear, u4(step), u4(0))
        rest = np.where(clear, rest << raw(step), rest)
        step //= 2
    return np.where(value == 0, u4(0xFFFFFFFF), count)


def lowest(value, bits):
    raw = value.dtype.type
    last_bit = value & (~value + raw(1))
    return np.where(value == 0, u4(0xFFFFFFFF), u4(bits - 1) - leading(last_bit, bits))


def leading_signs(value):
    bits = 8 * value.dtype.itemsize
    flipped = np.where(value < 0, ~value, value).view(u4 if bits == 32 else u8)
    return np.where(flipped == 0, u4(0xFFFFFFFF), leading(flipped, bits))


def perm(a, b, selector):
    """Bytes 0 to 3 are those of b, 4 to 7 those of a."""
    if selector.shape[-1] == 1 and (selector == selector[:1]).all():
        return _perm_of_one(a, b, int(selector.flat[0]))
    whole = (a.astype(u8) << u8(32)) | b.astype(u8)
    out = np.zeros(np.broadcast(a, b, selector).shape, u4)
    for byte in range(4):
        which = (selector >> u4(8 * byte)) & u4(0xFF)
        picked = ((whole >> ((which & u4(7)) * u4(8)).astype(u8)) & u8(0xFF)).astype(u4)
        sign_at = np.where(
            which == 8, 15, np.where(which == 9, 31, np.where(which == 10, 47, 63))
        ).astype(u8)
        sign = np.where((whole >> sign_at) & u8(1), u4(0xFF), u4(0))
        picked = np.where(
            which >= 13, u4(0xFF), np.where(which == 12, u4(0), np.where(which >= 8, sign, picked))
        )
        out |= picked << u4(8 * byte)
    return out


def _perm_of_one(a, b, selector):
    """`perm` where all lanes have the same selector: bytes that move equally far move together."""
    out = np.zeros(np.broadcast(a, b).shape, u4)
    moves: Dict[Tuple[bool, int], int] = {}
    for byte in range(4):
        which = selector >> 8 * byte & 0xFF
        mask = 0xFF << 8 * byte
        if which < 8:
            key = (which >= 4, byte - (which & 3))
            moves[key] = moves.get(key, 0) | mask
        elif which < 12:
            word, sign = (b, a)[which >= 10], (15, 31)[which & 1]
            out |= np.where(word >> u4(sign) & u4(1), u4(mask), u4(0))
        elif which > 12:
            out |= u4(mask)
    for (of_a, distance), mask in moves.items():
        word = a if of_a else b
        shift = u4(8 * abs(distance))
        out |= (word << shift if distance > 0 else word >> shift) & u4(mask)
    return out


def mul24(a, b, signed):
    if signed:
        a = (a << u4(8)).view(i4) >> i4(8)
        b = (b << u4(8)).view(i4) >> i4(8)
        return (a.astype(i8) * b.astype(i8)).astype(u4)
    return ((a & u4(0xFFFFFF)).astype(u8) * (b & u4(0xFFFFFF)).astype(u8)).astype(u4)


def mbcnt(mask, base, lanes, first):
    """How many lanes of a mask come before each lane; `first` is the number of the mask's first lane."""
    lane = np.arange(lanes)
    below = np.clip(lane - first, 0, 32)
    bits = np.array([(1 << int(n)) - 1 for n in below], u4)
    return (
        counted(np.ascontiguousarray(np.broadcast_to(mask, np.broadcast(mask, bits).shape) & bits))
        + base
    )
