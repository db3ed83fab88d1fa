"""Kernels that gather; Triton reads their source from this file."""

import triton
import triton.language as tl


@triton.jit
def of_one_dimension(x, index, y, FROM: tl.constexpr, TO: tl.constexpr):
    at = tl.arange(0, TO)
    found = tl.gather(tl.load(x + tl.arange(0, FROM)), tl.load(index + at), axis=0)
    tl.store(y + at, found)


@triton.jit
def of_three_dimensions(x, index, y, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr):
    """Along the middle one, by the method, with half as many indices."""
    before = tl.arange(0, A)[:, None, None]
    after = tl.arange(0, C)[None, None, :]
    source = tl.load(x + (before * B + tl.arange(0, B)[None, :, None]) * C + after)
    at = (before * (B // 2) + tl.arange(0, B // 2)[None, :, None]) * C + after
    tl.store(y + at, source.gather(tl.load(index + at), -2))


@triton.jit
def of_truths(x, index, y, FROM: tl.constexpr, TO: tl.constexpr):
    at = tl.arange(0, TO)
    found = tl.gather(tl.load(x + tl.arange(0, FROM)) > 0, tl.load(index + at), 0)
    tl.store(y + at, found.to(tl.int32))


@triton.jit
def of_pointers(x, index, y, FROM: tl.constexpr, TO: tl.constexpr):
    at = tl.arange(0, TO)
    tl.store(y + at, tl.load(tl.gather(x + tl.arange(0, FROM), tl.load(index + at), 0)))


@triton.jit
def plain(x, y, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(y + at, tl.load(x + at))
