"""Kernels of our own on block pointers, for every way in which a program hands one on. Triton reads them from here."""

import triton
import triton.language as tl


@triton.jit
def copy_1(
    x, y, n0, s0, o0, B0: tl.constexpr,
    ORDER: tl.constexpr, CHECK: tl.constexpr, PAD: tl.constexpr, OUT: tl.constexpr,
):  # fmt: skip
    p = tl.make_block_ptr(x, (n0,), (s0,), (o0,), (B0,), ORDER)
    q = tl.make_block_ptr(y, (B0,), (1,), (0,), (B0,), (0,))
    if OUT:
        tl.store(p, tl.load(q), boundary_check=CHECK)
    else:
        tl.store(q, tl.load(p, boundary_check=CHECK, padding_option=PAD))


@triton.jit
def copy_2(
    x, y, n0, n1, s0, s1, o0, o1, B0: tl.constexpr, B1: tl.constexpr,
    ORDER: tl.constexpr, CHECK: tl.constexpr, PAD: tl.constexpr, OUT: tl.constexpr,
):  # fmt: skip
    p = tl.make_block_ptr(x, (n0, n1), (s0, s1), (o0, o1), (B0, B1), ORDER)
    q = tl.make_block_ptr(y, (B0, B1), (B1, 1), (0, 0), (B0, B1), (1, 0))
    if OUT:
        tl.store(p, tl.load(q), boundary_check=CHECK)
    else:
        tl.store(q, tl.load(p, boundary_check=CHECK, padding_option=PAD))


@triton.jit
def copy_3(
    x, y, n0, n1, n2, s0, s1, s2, o0, o1, o2, B0: tl.constexpr, B1: tl.constexpr, B2: tl.constexpr,
    ORDER: tl.constexpr, CHECK: tl.constexpr, PAD: tl.constexpr, OUT: tl.constexpr,
):  # fmt: skip
    p = tl.make_block_ptr(x, (n0, n1, n2), (s0, s1, s2), (o0, o1, o2), (B0, B1, B2), ORDER)
    q = tl.make_block_ptr(y, (B0, B1, B2), (B1 * B2, B2, 1), (0, 0, 0), (B0, B1, B2), (2, 1, 0))
    if OUT:
        tl.store(p, tl.load(q), boundary_check=CHECK)
    else:
        tl.store(q, tl.load(p, boundary_check=CHECK, padding_option=PAD))


@triton.jit
def copy_4(
    x, y, n0, n1, n2, n3, s0, s1, s2, s3, o0, o1, o2, o3,
    B0: tl.constexpr, B1: tl.constexpr, B2: tl.constexpr, B3: tl.constexpr,
    ORDER: tl.constexpr, CHECK: tl.constexpr, PAD: tl.constexpr, OUT: tl.constexpr,
):  # fmt: skip
    p = tl.make_block_ptr(
        x, (n0, n1, n2, n3), (s0, s1, s2, s3), (o0, o1, o2, o3), (B0, B1, B2, B3), ORDER
    )
    q = tl.make_block_ptr(
        y, (B0, B1, B2, B3), (B1 * B2 * B3, B2 * B3, B3, 1), (0, 0, 0, 0), (B0, B1, B2, B3), (3, 2, 1, 0)
    )  # fmt: skip
    if OUT:
        tl.store(p, tl.load(q), boundary_check=CHECK)
    else:
        tl.store(q, tl.load(p, boundary_check=CHECK, padding_option=PAD))


@triton.jit
def copy_5(
    x, y, n0, n1, n2, n3, n4, s0, s1, s2, s3, s4, o0, o1, o2, o3, o4,
    B0: tl.constexpr, B1: tl.constexpr, B2: tl.constexpr, B3: tl.constexpr, B4: tl.constexpr,
    ORDER: tl.constexpr, CHECK: tl.constexpr, PAD: tl.constexpr, OUT: tl.constexpr,
):  # fmt: skip
    p = tl.make_block_ptr(
        x, (n0, n1, n2, n3, n4), (s0, s1, s2, s3, s4), (o0, o1, o2, o3, o4), (B0, B1, B2, B3, B4), ORDER
    )  # fmt: skip
    q = tl.make_block_ptr(
        y, (B0, B1, B2, B3, B4), (B1 * B2 * B3 * B4, B2 * B3 * B4, B3 * B4, B4, 1), (0, 0, 0, 0, 0),
        (B0, B1, B2, B3, B4), (4, 3, 2, 1, 0),
    )  # fmt: skip
    if OUT:
        tl.store(p, tl.load(q), boundary_check=CHECK)
    else:
        tl.store(q, tl.load(p, boundary_check=CHECK, padding_option=PAD))


COPY = {1: copy_1, 2: copy_2, 3: copy_3, 4: copy_4, 5: copy_5}


# The rest: y[16, 16] = the sum of x's blocks of 16 columns from column 0 on, x being M rows of N.


@triton.jit
def for_loop(x, y, M, N, sx, B: tl.constexpr):
    p = tl.make_block_ptr(x, (M, N), (sx, 1), (0, 0), (B, B), (1, 0))
    total = tl.zeros((B, B), dtype=tl.float32)
    for _ in range(0, N, B):
        total += tl.load(p, boundary_check=(0, 1), padding_option="zero")
        p = tl.advance(p, (0, B))
    # What the loop left is one block beyond the end: nothing may be read, and going back must work.
    total += tl.load(p, boundary_check=(0, 1), padding_option="zero")
    p = tl.advance(p, [0, -N])
    tl.store(tl.make_block_ptr(y, (B, B), (B, 1), (0, 0), (B, B), (1, 0)), total)


@triton.jit
def while_loop(x, y, M, N, sx, B: tl.constexpr):
    p = tl.make_block_ptr(x, (M, N), (sx, 1), (0, 0), (B, B), (1, 0))
    total = tl.zeros((B, B), dtype=tl.float32)
    at = 0
    while at < N:
        total += tl.load(p, boundary_check=(0, 1), padding_option="zero")
        p = tl.advance(p, (0, B))
        at += B
    tl.store(tl.make_block_ptr(y, (B, B), (B, 1), (0, 0), (B, B), (1, 0)), total)


@triton.jit
def nested_loops(x, y, M, N, sx, B: tl.constexpr):
    p = tl.make_block_ptr(x, (M, N), (sx, 1), (0, 0), (B, B), (1, 0))
    total = tl.zeros((B, B), dtype=tl.float32)
    for _ in range(0, N, 2 * B):
        for _inner in range(2):
            total += tl.load(p, boundary_check=(0, 1), padding_option="zero")
            p = tl.advance(p, (0, B))
    tl.store(tl.make_block_ptr(y, (B, B), (B, 1), (0, 0), (B, B), (1, 0)), total)


@triton.jit
def branches(x, y, M, N, sx, B: tl.constexpr):
    total = tl.zeros((B, B), dtype=tl.float32)
    for start in range(0, N, B):
        if start == 0:
            p = tl.make_block_ptr(x, (M, N), (sx, 1), (0, 0), (B, B), (1, 0))
        else:
            # the same block the other way about: as one of the transpose, which starts elsewhere
            p = tl.make_block_ptr(x + start, (M, N - start), (sx, 1), (-B, 0), (B, B), (1, 0))
            if start > 0:
                p = tl.advance(p, (B, 0))
        total += tl.load(p, boundary_check=(0, 1), padding_option="zero")
    tl.store(tl.make_block_ptr(y, (B, B), (B, 1), (0, 0), (B, B), (1, 0)), total)


@triton.jit
def block_of(x, M, N, sx, column, B: tl.constexpr):
    return tl.make_block_ptr(x, (M, N), (sx, 1), (0, column), (B, B), (1, 0))


@triton.jit
def take(p, B: tl.constexpr):
    value = tl.load(p, boundary_check=(0, 1), padding_option="zero")
    return value, tl.advance(p, (0, B))


@triton.jit
def put(p, value):
    tl.store(p, value.to(p.dtype.element_ty), boundary_check=(0, 1))


@triton.jit
def device_functions(x, y, M, N, sx, B: tl.constexpr):
    p = block_of(x, M, N, sx, 0, B)
    total = tl.zeros((B, B), dtype=tl.float32)
    for _ in range(0, N, B):
        value, p = take(p, B)
        total += value
    put(block_of(y, B, B, B, 0, B), total)


# M is a tensor even when it is 1.
@triton.jit(do_not_specialize=["M"])
def scalars_of_all_kinds(x, y, M, N, sx, B: tl.constexpr):
    # shape int64, strides constant and computed, offsets from the program's number, one-dimensional without tuples
    zero = tl.program_id(0) * B
    p = tl.make_block_ptr(x, [M.to(tl.int64), N], [sx, 1], [zero, zero + 0], [B, B], [1, 0])
    total = tl.zeros((B, B), dtype=tl.float32)
    step: tl.constexpr = B
    for i in range(0, tl.cdiv(N, B)):
        total += tl.load(
            tl.advance(p, (zero, i * step)), boundary_check=[0, 1], padding_option="zero"
        )
    row = tl.make_block_ptr(y, B * B, 1, 0, B * B, 0)
    tl.store(row, tl.reshape(total, (B * B,)))


@triton.jit
def as_tuples(x, y, M, N, sx, B: tl.constexpr):
    pair = (
        tl.make_block_ptr(x, (M, N), (sx, 1), (0, 0), (B, B), (1, 0)),
        tl.make_block_ptr(y, (B, B), (B, 1), (0, 0), (B, B), (1, 0)),
    )
    total = tl.zeros((B, B), dtype=tl.float32)
    for _ in range(0, N, B):
        total += tl.load(pair[0], boundary_check=(0, 1), padding_option="zero")
        pair = (tl.advance(pair[0], (0, B)), pair[1])
    tl.store(pair[1], total)


@triton.jit
def accumulates(x, y, M, N, sx, B: tl.constexpr):
    """Reads back what it stored; cache hints as keywords and by position."""
    p = tl.make_block_ptr(x, (M, N), (sx, 1), (0, 0), (B, B), (1, 0))
    q = tl.make_block_ptr(y, (B, B), (B, 1), (0, 0), (B, B), (1, 0))
    tl.store(q, 0.0 * tl.load(p, boundary_check=(0, 1), padding_option="zero"))
    for _ in range(0, N, B):
        value = tl.load(
            p, boundary_check=(0, 1), padding_option="zero", eviction_policy="evict_first"
        )
        old = tl.load(q, None, None, (), "", ".cg")
        tl.debug_barrier()
        tl.store(q, old + value, cache_modifier=".wb")
        tl.debug_barrier()
        p = tl.advance(p, (0, B))


SUMS = {
    kernel.__name__: kernel
    for kernel in (
        for_loop, while_loop, nested_loops, branches, device_functions, scalars_of_all_kinds, as_tuples, accumulates,
    )
}  # fmt: skip


@triton.jit
def matmul(
    a, b, c, M, N, K, a_row, a_col, b_row, b_col, c_row,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    row, col = tl.program_id(0) * BM, tl.program_id(1) * BN
    pa = tl.make_block_ptr(a, (M, K), (a_row, a_col), (row, 0), (BM, BK), (1, 0))
    pb = tl.make_block_ptr(b, (K, N), (b_row, b_col), (0, col), (BK, BN), (1, 0))
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for _ in range(0, K, BK):
        left = tl.load(pa, boundary_check=(0, 1), padding_option="zero")
        right = tl.load(pb, boundary_check=(0, 1), padding_option="zero")
        total += tl.dot(left, right)
        pa = tl.advance(pa, (0, BK))
        pb = tl.advance(pb, (BK, 0))
    pc = tl.make_block_ptr(c, (M, N), (c_row, 1), (row, col), (BM, BN), (1, 0))
    tl.store(pc, total.to(pc.dtype.element_ty), boundary_check=(0, 1))


@triton.jit
def changes_its_block(x, y, n, B: tl.constexpr):
    p = tl.make_block_ptr(x, (n,), (1,), (0,), (B,), (0,))
    for _ in range(n):
        p = tl.make_block_ptr(x, (n,), (1,), (0,), (2 * B,), (0,))
    tl.store(tl.make_block_ptr(y, (n,), (1,), (0,), (B,), (0,)), tl.load(p))


@triton.jit
def forgets_the_result(x, y, n, B: tl.constexpr):
    p = tl.make_block_ptr(x, (n,), (1,), (0,), (B,), (0,))
    tl.advance(p, (B,))


@triton.jit
def masks_nothing(x, n, B: tl.constexpr):
    p = tl.make_block_ptr(x, (n,), (1,), (0,), (B,), (0,))
    tl.store(p, tl.load(p) + 1)


@triton.jit
def masks_a_block(x, y, n, B: tl.constexpr):
    p = tl.make_block_ptr(x, (n,), (1,), (0,), (B,), (0,))
    tl.store(y + tl.arange(0, B), tl.load(p, mask=tl.arange(0, B) < n))


@triton.jit
def checks_a_pointer(x, y, n, B: tl.constexpr):
    tl.store(y + tl.arange(0, B), tl.load(x + tl.arange(0, B), boundary_check=(0,)))


@triton.jit
def pads_with_ones(x, y, n, B: tl.constexpr):
    p = tl.make_block_ptr(x, (n,), (1,), (0,), (B,), (0,))
    tl.store(y + tl.arange(0, B), tl.load(p, boundary_check=(0,), padding_option="one"))


@triton.jit
def is_out_of_order(x, y, n, B: tl.constexpr):
    p = tl.make_block_ptr(x, (n,), (1,), (0,), (B,), (1,))
    tl.store(y + tl.arange(0, B), tl.load(p))


@triton.jit
def checks_a_dimension_too_many(x, y, n, B: tl.constexpr):
    p = tl.make_block_ptr(x, (n,), (1,), (0,), (B,), (0,))
    tl.store(y + tl.arange(0, B), tl.load(p, boundary_check=(1,)))
