"""Kernels of small integers and numbers; Triton reads their source from this file."""

import triton
import triton.language as tl


@triton.jit
def wraps_around(x, y, BLOCK: tl.constexpr, ONE: tl.constexpr):
    """Writes 17 rows of BLOCK; the same, of PyTorch's: `rows`."""
    at = tl.arange(0, BLOCK)
    value = tl.load(x + at)
    tl.store(y + at, (value + 1).to(tl.int32))
    tl.store(y + BLOCK + at, (1 + value).to(tl.int32))
    tl.store(y + 2 * BLOCK + at, (value - 100).to(tl.int32))
    tl.store(y + 3 * BLOCK + at, (100 - value).to(tl.int32))
    tl.store(y + 4 * BLOCK + at, (value * 3).to(tl.int32))
    tl.store(y + 5 * BLOCK + at, (value << 2).to(tl.int32))
    tl.store(y + 6 * BLOCK + at, ((value >> 1) + ONE).to(tl.int32))
    tl.store(y + 7 * BLOCK + at, ((value & 15) * 100).to(tl.int32))
    tl.store(y + 8 * BLOCK + at, ((value | 3) * 100).to(tl.int32))
    tl.store(y + 9 * BLOCK + at, ((value ^ 5) * 100).to(tl.int32))
    tl.store(y + 10 * BLOCK + at, (tl.where(value < 9, value, 100) * value).to(tl.int32))
    tl.store(y + 11 * BLOCK + at, (tl.where(value > 9, 100, value) * value).to(tl.int32))
    tl.store(y + 12 * BLOCK + at, ((value == 7) + 1).to(tl.int32))
    tl.store(y + 13 * BLOCK + at, tl.reshape(value[:, None] * 100, (BLOCK,)).to(tl.int32))
    tl.store(y + 14 * BLOCK + at, (value // 2 * 100).to(tl.int32))
    tl.store(y + 15 * BLOCK + at, (value % 4 * 100).to(tl.int32))
    number = 100
    tl.store(y + 16 * BLOCK + at, (value * number).to(tl.int32))


def rows(x):
    """int32 of shape (17, x.numel()), for int8, uint8 or int16 `x` that is not negative."""
    wide = x.int()
    of_x = (
        *(x + 1, 1 + x, x - 100, 100 - x, x * 3, x << 2, (x >> 1) + 1),
        *((x & 15) * 100, (x | 3) * 100, (x ^ 5) * 100),
        *(x.where(x < 9, x.new_tensor(100)) * x, x.where(x <= 9, x.new_tensor(100)) * x),
        # a truth is no small integer; a variable is a tensor of 32 bits, in every release
        *((x == 7).int() + 1, x * 100, x // 2 * 100, x % 4 * 100, wide * 100),
    )
    return [row.int().tolist() for row in of_x]


@triton.jit
def does_not_fit(x, y, BLOCK: tl.constexpr):
    """Writes ``x + 300`` of an int8 `x`, which Triton refuses from 3.3 on."""
    at = tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at) + 300)


@triton.jit
def of_bools(x, y, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at) * 100 + 100)


@triton.jit
def increment(x, y, BLOCK: tl.constexpr):
    """Stores as what it is: the interpreter of Triton 2.3 casts no integers."""
    at = tl.arange(0, BLOCK)
    value = tl.load(x + at)
    tl.store(y + at, tl.where(value > 0, value + 1, 5))


@triton.jit
def of_floats(x, y, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at) + 1)


@triton.jit
def makes_small_integers(x, y, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(y + at, (tl.load(x + at).to(tl.int8) + 1).to(tl.int32))
