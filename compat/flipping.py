"""`tl.flip` along any dimension by the bits of its values. Imported only where Triton's own flips otherwise."""

import triton
import triton.language as tl

from .sorting import bits_of


@triton.jit
def flip_by_bits(
    x, shape: tl.constexpr, halves: tl.constexpr, dim: tl.constexpr, steps: tl.constexpr, width: tl.constexpr
):  # fmt: skip
    """`x` of `shape`, whose elements have `width` bits, flipped along `dim`, which is 2 ** `steps` long.

    Args:
        halves: `shape`, with that dimension as so many twos.
    """
    y = tl.reshape(bits_of(x, width), halves)
    for step in tl.static_range(steps):
        # Along an axis of two each element is the XOR of both with the other: no arithmetic is done.
        both = tl.expand_dims(tl.xor_sum(y, dim + step), dim + step)
        y = y ^ both
    return tl.reshape(y, shape).to(x.dtype, bitcast=True)
