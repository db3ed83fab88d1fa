"""Loaded more than once, each time with another FACTOR, by constant_keys."""

import triton
import triton.language as tl

FACTOR = tl.constexpr(1)


@triton.jit
def scale_kernel(x_ptr, y_ptr, size, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, FACTOR * tl.load(x_ptr + at, mask=at < size), mask=at < size)
