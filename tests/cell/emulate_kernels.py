"""Small kernels for the lane emulate; Triton reads their source from this file."""

import triton
import triton.language as tl


@triton.jit
def of_all_kinds(x, nothing, y, one, n, factor, big, flag, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at * one, mask=at < n) * factor + big.to(tl.float32) + flag.to(tl.float32)
    tl.store(y + at, value, mask=at < n)


@triton.jit
def one_too_far(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n)
    tl.store(y + at, value, mask=at < n + 1)


@triton.jit
def through_a_table(table, y, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    source = tl.load(table + tl.program_id(0)).to(tl.pointer_type(tl.float32))
    tl.store(y + tl.program_id(0) * BLOCK + at, tl.load(source + at))


@triton.jit
def times(x, y, n, BLOCK: tl.constexpr, FACTOR: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < n) * FACTOR, mask=at < n)


@triton.jit
def plus_one(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < n) + 1, mask=at < n)


@triton.jit
def of_no_triton(x, y, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    bits = tl.load(x + at).to(tl.int32)
    told = tl.inline_asm_elementwise(
        "vmax4.u32.u32.u32 $0, $1, $1, $1;", "=r,r", [bits], dtype=tl.int32, is_pure=True, pack=1
    )
    tl.store(y + at, told.to(tl.float32))


@triton.jit
def half_of_it(x, y, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n)
    tl.store(y + at, value, mask=at < n // 2)


@triton.jit
def of_a_tuple(pair, y, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(pair[0] + at, mask=at < n) * pair[1], mask=at < n)


@triton.jit
def of_a_descriptor(source, y, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    block = source.load([ROWS, 0])
    at = tl.arange(0, ROWS)[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    tl.store(y + at, block)


@triton.jit
def scores(a, b, y, total, SIZE: tl.constexpr):
    """Softmax of the rows of a @ b, and the sum of all numbers below one half."""
    at = tl.arange(0, SIZE)
    block = at[:, None] * SIZE + at[None, :]
    product = tl.dot(tl.load(a + block), tl.load(b + block))
    raised = tl.exp(product - tl.max(product, 1)[:, None])
    share = raised / tl.sum(raised, 1)[:, None]
    tl.store(y + block, share)
    tl.atomic_add(total, tl.sum(tl.sum(tl.where(share < 0.5, share, 0.0), 1), 0))
