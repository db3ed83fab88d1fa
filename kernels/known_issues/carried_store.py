"""A store of a loop's variable as it was before this iteration: an AMD pass asks which operation made it."""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, kernel_of


@triton.jit
def _recurrence_kernel(
    x_ptr, y_ptr, T, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, TWO: tl.constexpr
):
    n = tl.arange(0, BLOCK_N)
    at = n
    state = tl.zeros([BLOCK_N], dtype=tl.float32)
    if TWO:
        at = tl.arange(0, BLOCK_M)[:, None] * BLOCK_N + n[None, :]
        state = tl.zeros([BLOCK_M, BLOCK_N], dtype=tl.float32)
    for t in range(0, T):
        tl.store(y_ptr + t * N + at, state)
        state = state * 0.5 + tl.load(x_ptr + t * N + at)


def launch(x, two):
    steps, size = x.shape
    y = torch.empty_like(x)
    block = {"BLOCK_M": 4, "BLOCK_N": size // 4} if two else {"BLOCK_M": 1, "BLOCK_N": size}
    _recurrence_kernel[(1,)](x, y, steps, size, TWO=two, num_warps=4, **block)
    return {"y": y}


def reference(x, two):
    rows, state = [], torch.zeros(x.shape[1], dtype=torch.float64, device=x.device)
    for row in x.double():
        rows.append(state)
        state = state * 0.5 + row
    return {"y": torch.stack(rows)}


def inputs(case, device, generator):
    x = torch.randn(case.shape["T"], case.shape["N"], generator=generator, device=generator.device)
    return {"x": x.to(device), "two": case.id == "tile"}


KERNEL = kernel_of(
    globals(),
    cases=(
        Case("row", "fp32", {"T": 5, "N": 128}, targets=("sm_90", "gfx942")),
        Case("tile", "fp32", {"T": 5, "N": 256}, targets=("sm_90", "gfx942")),
    ),
    tolerance={"fp32": 5e-6},
)
