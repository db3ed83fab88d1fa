"""Small kernels for the sanitizer; Triton reads their source from this file."""

import triton
import triton.language as tl


@triton.jit
def adds_to(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    before = tl.load(y + at, mask=at < n)
    tl.store(y + at, before + tl.load(x + at, mask=at < n), mask=at < n)


@triton.jit
def takes_a_slot(x, count, y, BLOCK: tl.constexpr):
    """Each program stores its row where it was the first to come."""
    place = tl.atomic_add(count, 1)
    at = tl.arange(0, BLOCK)
    tl.store(y + place * BLOCK + at, tl.load(x + tl.program_id(0) * BLOCK + at))


@triton.jit
def shifts_in_place(x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at + 1, mask=at + 1 < n, other=0.0)
    tl.store(x + at, value, mask=at < n)
