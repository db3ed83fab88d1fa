"""Gluon: a transpose that reads along rows in one layout, converts, and writes along rows in another."""

import torch
import triton

from crosswarp.kernels.case import Case, kernel_of
from crosswarp.kernels.gluon_import import gl, gluon, warp_size

TILE = 64
TARGETS = ("sm_90", "sm_100", "gfx942")


@gluon.jit
def _transpose_kernel(x_ptr, y_ptr, m, n, TILE: gl.constexpr, WARP: gl.constexpr):
    reading: gl.constexpr = gl.BlockedLayout([1, 4], [WARP // 16, 16], [4, 1], [1, 0])
    writing: gl.constexpr = gl.BlockedLayout([4, 1], [16, WARP // 16], [1, 4], [0, 1])
    row, col = gl.program_id(0) * TILE, gl.program_id(1) * TILE
    rows = row + gl.arange(0, TILE, layout=gl.SliceLayout(1, reading))
    cols = col + gl.arange(0, TILE, layout=gl.SliceLayout(0, reading))
    inside = (rows[:, None] < m) & (cols[None, :] < n)
    x = gl.load(x_ptr + rows[:, None] * n + cols[None, :], mask=inside, other=0.0)
    y = gl.convert_layout(x, writing)
    rows = row + gl.arange(0, TILE, layout=gl.SliceLayout(1, writing))
    cols = col + gl.arange(0, TILE, layout=gl.SliceLayout(0, writing))
    inside = (rows[:, None] < m) & (cols[None, :] < n)
    gl.store(y_ptr + cols[None, :] * m + rows[:, None], y, mask=inside)


def launch(x):
    m, n = x.shape
    y = torch.empty((n, m), dtype=x.dtype, device=x.device)
    grid = (triton.cdiv(m, TILE), triton.cdiv(n, TILE))
    _transpose_kernel[grid](x, y, m, n, TILE=TILE, WARP=warp_size(), num_warps=4)
    return {"y": y}


def reference(x):
    return {"y": x.double().t().contiguous()}


def inputs(case, device, generator):
    m, n = case.shape["M"], case.shape["N"]
    x = torch.randn(m, n, generator=generator, device=generator.device)
    return {"x": x.to(device, case.torch_dtype)}


KERNEL = kernel_of(
    globals(),
    cases=(
        Case("fp32-100x77", "fp32", {"M": 100, "N": 77}, targets=TARGETS),
        Case("fp16-64x64", "fp16", {"M": 64, "N": 64}, targets=TARGETS),
    ),
    # nothing is computed
    tolerance={"fp32": 0.0, "fp16": 0.0},
    uses=("gluon",),
)
