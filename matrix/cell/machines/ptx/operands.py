"""How a matrix lies in shared memory that a descriptor of wgmma or tcgen05 means: the ISA's canonical layouts."""

from functools import lru_cache

import numpy as np

from .types import i8

# Address bits above the lowest 7 that are folded onto bits 4 to 6, by the span of the swizzle in bytes.
SWIZZLE_BITS = {0: 0, 32: 1, 64: 3, 128: 7}


@lru_cache(maxsize=512)
def offsets(rows, depth, size, transposed, leading, stride, span):
    """Byte offsets (rows, depth) of an operand from its start, before the swizzle.

    Args:
        rows: of A, or columns of B; depth is K.
        size: bytes of an element.
        transposed: rows lie next to each other, and not K.
        leading, stride: the descriptor's two offsets, in bytes.
        span: bytes of the swizzle: 0, 32, 64 or 128.
    """
    row, k = np.arange(rows)[:, None], np.arange(depth)[None]
    core, pitch = 16 // size, span or 16
    if not transposed:
        offset = (row % 8) * pitch + (row // 8) * stride
        if not span:
            offset = offset + (k // core) * leading + (k % core) * size
        else:
            offset = offset + k * size
    elif not span:
        offset = (row % core) * size + (row // core) * stride + (k % 8) * 16 + (k // 8) * leading
    else:
        wide = pitch // size
        offset = (row % wide) * size + (row // wide) * leading
        offset = offset + (k % 8) * pitch + (k // 8) * stride
    return offset.astype(i8)


def swizzled(address, span, base=0):
    """The addresses with the swizzle applied: it goes by the address itself, not by the offset.

    Args:
        base: the descriptor's base offset: at which 128 bytes of 1,024 the repeating pattern starts.
    """
    if not span:
        return address
    return address ^ ((((address >> 7) - base) & SWIZZLE_BITS[span]) << 4)
