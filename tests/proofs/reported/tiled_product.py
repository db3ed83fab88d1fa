"""A matrix product in the manner of the tutorial: grouped tiles, masks along K alone, one configuration a case."""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, Kernel


@triton.jit
def _product_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, a_row, a_col, b_row, b_col, c_row, c_col, BM: tl.constexpr, BN: tl.constexpr,
    BK: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    program = tl.program_id(0)
    down, across = tl.cdiv(M, BM), tl.cdiv(N, BN)
    first = program // (GROUP * across) * GROUP
    height = min(down - first, GROUP)
    inside = program % (GROUP * across)
    rows = (first + inside % height) * BM + tl.arange(0, BM)
    columns = inside // height * BN + tl.arange(0, BN)
    depth = tl.arange(0, BK)
    a_at = a_ptr + (rows % M)[:, None] * a_row + depth[None, :] * a_col
    b_at = b_ptr + depth[:, None] * b_row + (columns % N)[None, :] * b_col
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for step in range(0, tl.cdiv(K, BK)):
        a = tl.load(a_at, mask=depth[None, :] < K - step * BK, other=0.0)
        b = tl.load(b_at, mask=depth[:, None] < K - step * BK, other=0.0)
        total = tl.dot(a, b, total)
        a_at += BK * a_col
        b_at += BK * b_row
    there = (rows < M)[:, None] & (columns < N)[None, :]
    at = c_ptr + c_row * rows[:, None] + c_col * columns[None, :]
    tl.store(at, total.to(tl.float16), mask=there)


def launch(a, b, tile, warps, stages):
    BM, BN, BK = tile
    (rows, depth), columns = a.shape, b.shape[1]
    c = torch.empty(rows, columns, dtype=torch.float16, device=a.device)
    grid = (triton.cdiv(rows, BM) * triton.cdiv(columns, BN),)
    _product_kernel[grid](
        a, b, c, rows, columns, depth, *a.stride(), *b.stride(), *c.stride(), BM=BM, BN=BN, BK=BK, GROUP=8,
        num_warps=warps, num_stages=stages,
    )  # fmt: skip
    return {"c": c}


def reference(a, b):
    return {"c": a.double() @ b.double()}


def inputs(case, device, generator):
    m, n, k = (case.shape[name] for name in "MNK")
    a = torch.randn(m, k, generator=generator).to(device, case.torch_dtype)
    b = torch.randn(n, k, generator=generator).to(device, case.torch_dtype)
    # fp8 as the tutorial has it: the second operand lies transposed
    return {"a": a, "b": b.t() if case.dtype == "fp8" else b.t().contiguous()}


def _case(name, dtype, size, tile, warps, stages, targets):
    return Case(
        f"{dtype}-{name}", dtype, dict.fromkeys("MNK", 256), real=dict.fromkeys("MNK", size), targets=targets,
        options={"tile": tile, "warps": warps, "stages": stages},
    )  # fmt: skip


KERNEL = Kernel(
    name="tiled_product",
    cases=(
        _case("64x128x64", "fp16", 512, (64, 128, 64), 4, 4, ("sm_80", "sm_90")),
        _case("64x128x32", "fp16", 1024, (64, 128, 32), 4, 4, ("sm_80",)),
        _case("128x128x32", "fp16", 1152, (128, 128, 32), 4, 4, ("sm_80",)),
        _case("64x32x32", "fp16", 512, (64, 32, 32), 2, 5, ("sm_80",)),
        _case("128x128x64", "fp8", 2048, (128, 128, 64), 4, 4, ("sm_89",)),
        _case("128x256x128", "fp8", 2048, (128, 256, 128), 8, 3, ("sm_89",)),
        _case("64x128x64", "fp8", 2048, (64, 128, 64), 4, 4, ("sm_89",)),
    ),
    inputs=inputs,
    launch=launch,
    reference=reference,
    tolerance={"fp16": 1e-3, "fp8": 2e-3},
    uses=("dot",),
)
