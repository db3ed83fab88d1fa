"""Matrix products of a batch, any strides: a program for each matrix's tile, several matrices in one 3-D product, or
with the strides passed as tuples."""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, kernel_of


@triton.jit
def _tile(
    a, b, c, M, N, K, am, ak, bk, bn, cm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    """One tile of one product; the pointers are those of its matrices."""
    rows = tl.program_id(1) * BM + tl.arange(0, BM)
    cols = tl.program_id(0) * BN + tl.arange(0, BN)
    inner = tl.arange(0, BK)
    total = tl.zeros([BM, BN], dtype=tl.float32)
    for k in range(0, K, BK):
        at_a = rows[:, None] * am + (k + inner[None, :]) * ak
        x = tl.load(a + at_a, mask=(rows[:, None] < M) & (inner[None, :] < K - k), other=0.0)
        at_b = (k + inner[:, None]) * bk + cols[None, :] * bn
        y = tl.load(b + at_b, mask=(inner[:, None] < K - k) & (cols[None, :] < N), other=0.0)
        total += tl.dot(x, y, allow_tf32=False)
    mask = (rows[:, None] < M) & (cols[None, :] < N)
    tl.store(c + rows[:, None] * cm + cols[None, :], total.to(c.dtype.element_ty), mask=mask)


@triton.jit
def _batched_kernel(
    a_ptr,
    b_ptr,
    c_ptr,
    M,
    N,
    K,
    a_batch,
    a_row,
    a_col,
    b_batch,
    b_row,
    b_col,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
):
    batch = tl.program_id(2).to(tl.int64)
    a, b = a_ptr + batch * a_batch, b_ptr + batch * b_batch
    _tile(a, b, c_ptr + batch * M * N, M, N, K, a_row, a_col, b_row, b_col, N, BM, BN, BK)


@triton.jit
def _tuple_kernel(
    pointers, sizes, a_strides, b_strides, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    a_ptr, b_ptr, c_ptr = pointers
    M, N, K = sizes
    batch = tl.program_id(2).to(tl.int64)
    a, b = a_ptr + batch * a_strides[0], b_ptr + batch * b_strides[0]
    _tile(
        a, b, c_ptr + batch * M * N, M, N, K,
        a_strides[1], a_strides[2], b_strides[1], b_strides[2], N, BM, BN, BK,
    )  # fmt: skip


@triton.jit
def _three_dimensions_kernel(
    a_ptr,
    b_ptr,
    c_ptr,
    BATCH,
    M,
    N,
    K,
    a_batch,
    a_row,
    a_col,
    b_batch,
    b_row,
    b_col,
    BB: tl.constexpr,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
):
    batch = (tl.program_id(2) * BB + tl.arange(0, BB))[:, None, None].to(tl.int64)
    rows = (tl.program_id(1) * BM + tl.arange(0, BM))[None, :, None]
    cols = (tl.program_id(0) * BN + tl.arange(0, BN))[None, None, :]
    across = tl.arange(0, BK)[None, None, :]
    down = tl.arange(0, BK)[None, :, None]
    total = tl.zeros([BB, BM, BN], dtype=tl.float32)
    for k in range(0, K, BK):
        at_a = batch * a_batch + rows * a_row + (k + across) * a_col
        x = tl.load(a_ptr + at_a, mask=(batch < BATCH) & (rows < M) & (across < K - k), other=0.0)
        at_b = batch * b_batch + (k + down) * b_row + cols * b_col
        y = tl.load(b_ptr + at_b, mask=(batch < BATCH) & (down < K - k) & (cols < N), other=0.0)
        total += tl.dot(x, y, allow_tf32=False)
    mask = (batch < BATCH) & (rows < M) & (cols < N)
    at_c = (batch * M + rows) * N + cols
    tl.store(c_ptr + at_c, total.to(c_ptr.dtype.element_ty), mask=mask)


def launch(a, b, way="plain"):
    (batch, m, k), n = a.shape, b.shape[2]
    c = torch.empty((batch, m, n), dtype=a.dtype, device=a.device)
    tile = {"BM": 128, "BN": 128, "BK": 32, "num_warps": 8, "num_stages": 2}
    if a.dtype == torch.float32 or way == "3d":
        tile = {"BM": 32, "BN": 32, "BK": 32, "num_warps": 4, "num_stages": 2}
    grid = (triton.cdiv(n, tile["BN"]), triton.cdiv(m, tile["BM"]), batch)
    if way == "plain":
        _batched_kernel[grid](a, b, c, m, n, k, *a.stride(), *b.stride(), **tile)
    elif way == "tuple":
        _tuple_kernel[grid]((a, b, c), (m, n, k), a.stride(), b.stride(), **tile)
    else:
        grid = (*grid[:2], triton.cdiv(batch, 4))
        _three_dimensions_kernel[grid](
            a, b, c, batch, m, n, k, *a.stride(), *b.stride(), BB=4, **tile
        )
    return {"c": c}


def reference(a, b):
    return {"c": a.double() @ b.double()}


def inputs(case, device, generator):
    batch, m, n, k = (case.shape[name] for name in "BMNK")

    def normal(*size):
        made = torch.randn(*size, generator=generator, device=generator.device, dtype=torch.float32)
        return made.to(device, case.torch_dtype)

    # as in attention: heads beside tokens in memory, the second operand transposed
    return {"a": normal(m, batch, k).transpose(0, 1), "b": normal(n, batch, k).permute(1, 2, 0)}


def _case(id, dtype, B, M, N, K, **more):
    return Case(id, dtype, {"B": B, "M": M, "N": N, "K": K}, **more)


KERNEL = kernel_of(
    globals(),
    batch="B",
    cases=(
        _case("fp16-3x70x130x72", "fp16", 3, 70, 130, 72),
        _case("bf16-2x1x129x64", "bf16", 2, 1, 129, 64),
        _case("fp32-5x33x17x50", "fp32", 5, 33, 17, 50),
        _case(
            "fp16-6x40x70x50-3d",
            "fp16",
            *(6, 40, 70, 50),
            options={"way": "3d"},
            requires=("dot-3d",),
        ),
        _case(
            "fp16-3x70x130x72-tuple",
            "fp16",
            *(3, 70, 130, 72),
            options={"way": "tuple"},
            requires=("tuple-argument",),
        ),
    ),
    # measured: 9.1e-8, 2.1e-4; bf16 is the rounding of the output, 1.7e-3
    tolerance={"fp32": 5e-7, "fp16": 1e-3, "bf16": 8e-3},
    uses=("dot",),
)
