"""`tl.sort` of floats by their bits, as integers in the same order. Imported only where Triton's own is wrong."""

import triton
import triton.language as tl
from triton.language.standard import sort as _sort


@triton.jit
def bits_of(x, width: tl.constexpr):
    """`x`, of `width` bits, as the integer of these bits."""
    if width == 8:
        return x.to(tl.int8, bitcast=True)
    elif width == 16:
        return x.to(tl.int16, bitcast=True)
    elif width == 32:
        return x.to(tl.int32, bitcast=True)
    else:
        return x.to(tl.int64, bitcast=True)


@triton.jit
def _ordered(bits, width: tl.constexpr, most: tl.constexpr):
    """Bits of floats as integers of the same order, and back: with the sign set, all other bits are inverted."""
    return bits ^ ((bits >> (width - 1)) & most)


@triton.jit
def sort_by_bits(
    x, dim: tl.constexpr, descending: tl.constexpr, width: tl.constexpr, most: tl.constexpr
):
    """`x`, floats of `width` bits, sorted; `most` is the greatest integer of as many bits."""
    bits = bits_of(x, width)
    if width == 16:
        # Triton sums 16-bit integers in 32 bits, and its sort would return those.
        key = _sort(_ordered(bits.to(tl.int32), 32, most), dim, descending)
        bits = _ordered(key, 32, most).to(tl.int16)
    else:
        bits = _ordered(_sort(_ordered(bits, width, most), dim, descending), width, most)
    return bits.to(x.dtype, bitcast=True)
