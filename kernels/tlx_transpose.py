"""TLX: a matrix written to shared memory and read from there by its other dimension."""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, kernel_of
from crosswarp.kernels.tlx_import import lacking, tlx

TARGETS = ("sm_80", "sm_90", "sm_100")
TILE = 32


@triton.jit
def _transpose_kernel(x_ptr, y_ptr, M, N, TILE: tl.constexpr):
    rows = tl.program_id(0) * TILE + tl.arange(0, TILE)
    cols = tl.program_id(1) * TILE + tl.arange(0, TILE)
    within = (rows[:, None] < M) & (cols[None, :] < N)
    tile = tlx.local_view(tlx.local_alloc((TILE, TILE), tlx.dtype_of(x_ptr), 1), 0)
    tlx.local_store(tile, tl.load(x_ptr + rows[:, None] * N + cols[None, :], mask=within))
    turned = tlx.local_load(tlx.local_trans(tile))
    within = (cols[:, None] < N) & (rows[None, :] < M)
    tl.store(y_ptr + cols[:, None] * M + rows[None, :], turned, mask=within)


def launch(x):
    m, n = x.shape
    y = torch.empty((n, m), dtype=x.dtype, device=x.device)
    grid = (triton.cdiv(m, TILE), triton.cdiv(n, TILE))
    _transpose_kernel[grid](x, y, m, n, TILE=TILE, num_warps=4)
    return {"y": y}


def reference(x):
    return {"y": x.double().t()}


def inputs(case, device, generator):
    m, n = case.shape["M"], case.shape["N"]
    x = torch.randn(m, n, generator=generator, device=generator.device)
    return {"x": x.to(device, case.torch_dtype)}


KERNEL = kernel_of(
    globals(),
    cases=(
        Case("fp32", "fp32", {"M": 32, "N": 64}, targets=TARGETS),
        Case("fp16-ragged", "fp16", {"M": 33, "N": 47}, targets=TARGETS),
    ),
    # copied, so equal
    tolerance={"fp32": 0.0, "fp16": 0.0},
    uses=("tlx",),
    probes={"tlx": lacking},
)
