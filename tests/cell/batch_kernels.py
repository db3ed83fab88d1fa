"""Sums of rows: one alike in any batch, and one that adds in another order where there are several rows."""

import triton
import triton.language as tl


@triton.jit
def row_sums(x, y, N, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    row = tl.program_id(0)
    tl.store(y + row, tl.sum(tl.load(x + row * N + at, mask=at < N, other=0.0)))


@triton.jit
def halves_first(x, y, N, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    row = tl.program_id(0)
    low = tl.sum(tl.load(x + row * N + at, mask=at < N // 2, other=0.0))
    high = tl.sum(tl.load(x + row * N + at, mask=(at >= N // 2) & (at < N), other=0.0))
    tl.store(y + row, low + high)
