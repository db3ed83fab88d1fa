"""A scaled matrix product of three dimensions: a batch of two, in 8-bit floats with a scale for each 32."""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, kernel_of

BATCH, SIZE, DEPTH = 2, 64, 128


@triton.jit
def _scaled_kernel(
    a_ptr, sa_ptr, b_ptr, sb_ptr, c_ptr, BATCH: tl.constexpr, SIZE: tl.constexpr, DEPTH: tl.constexpr
):  # fmt: skip
    SCALES: tl.constexpr = DEPTH // 32
    batch = tl.arange(0, BATCH)[:, None, None]
    row, col = tl.arange(0, SIZE)[None, :, None], tl.arange(0, SIZE)[None, None, :]
    a = tl.load(a_ptr + batch * SIZE * DEPTH + row * DEPTH + tl.arange(0, DEPTH)[None, None, :])
    b = tl.load(b_ptr + batch * SIZE * DEPTH + tl.arange(0, DEPTH)[None, :, None] * SIZE + col)
    scales = batch * SIZE * SCALES + row * SCALES + tl.arange(0, SCALES)[None, None, :]
    c = tl.dot_scaled(a, tl.load(sa_ptr + scales), "e4m3", b, tl.load(sb_ptr + scales), "e4m3")
    tl.store(c_ptr + batch * SIZE * SIZE + row * SIZE + col, c)


def launch():
    a = torch.empty(BATCH, SIZE, DEPTH, dtype=torch.uint8)
    b = torch.empty(BATCH, DEPTH, SIZE, dtype=torch.uint8)
    scale = torch.empty(BATCH, SIZE, DEPTH // 32, dtype=torch.uint8)
    c = torch.empty(BATCH, SIZE, SIZE, dtype=torch.float32)
    _scaled_kernel[(1,)](a, scale, b, scale, c, BATCH=BATCH, SIZE=SIZE, DEPTH=DEPTH)
    return {"c": c}


KERNEL = kernel_of(
    globals(),
    cases=(Case("mxfp8", "int8", {}, lanes=("compile",), targets=("sm_120",)),),
    uses=("dot-3d", "dot-scaled"),
)
