"""Cumulative sum along the last dimension, from either end; each program walks a row and carries its sum so far."""

import torch
import triton
import triton.language as tl

from crosswarp.compat.launch import num_warps
from crosswarp.kernels.case import Case, kernel_of

LARGEST_BLOCK = 4096


@triton.jit
def _cumulative_sum_kernel(
    x_ptr, y_ptr, x_row, x_col, y_row, N, REVERSE: tl.constexpr, BLOCK: tl.constexpr
):
    # 64 bits: rows times columns may pass 2^31
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    carried = 0.0
    for turn in range(0, tl.cdiv(N, BLOCK)):
        if REVERSE:
            at = (tl.cdiv(N, BLOCK) - 1 - turn) * BLOCK + cols
        else:
            at = turn * BLOCK + cols
        mask = at < N
        x = tl.load(x_ptr + row * x_row + at * x_col, mask=mask, other=0.0).to(tl.float32)
        if REVERSE:
            y = tl.cumsum(x, axis=0, reverse=True) + carried
        else:
            y = tl.cumsum(x, axis=0) + carried
        carried += tl.sum(x, axis=0)
        tl.store(y_ptr + row * y_row + at, y.to(y_ptr.dtype.element_ty), mask=mask)


def launch(x, reverse, block=None):
    rows, width = x.shape
    block = block or min(LARGEST_BLOCK, triton.next_power_of_2(width))
    y = torch.empty((rows, width), dtype=x.dtype, device=x.device)
    _cumulative_sum_kernel[(rows,)](
        x,
        y,
        x.stride(0),
        x.stride(1),
        y.stride(0),
        width,
        REVERSE=reverse,
        BLOCK=block,
        num_warps=num_warps(block),
    )
    return {"y": y}


def reference(x, reverse):
    x64 = x.double()
    return {"y": x64.flip(1).cumsum(1).flip(1) if reverse else x64.cumsum(1)}


def inputs(case, device, generator):
    rows, width = case.shape["M"], case.shape["N"]
    x = torch.randn(rows, width, generator=generator, device=generator.device, dtype=torch.float32)
    # a drift, so that the sums grow
    x = (x + 0.5).to(device, case.torch_dtype)
    return {
        # columns that lie a row apart
        "x": x.t().contiguous().t() if case.shape.get("transposed") else x,
        "reverse": bool(case.shape.get("reverse")),
    }


REVERSE = ("reverse-scan",)

KERNEL = kernel_of(
    globals(),
    batch="M",
    cases=(
        Case("fp32-3x1111", "fp32", {"M": 3, "N": 1111}, options={"block": 256}),
        Case("fp16-5x77-t", "fp16", {"M": 5, "N": 77, "transposed": 1}),
        Case("fp16-1x1", "fp16", {"M": 1, "N": 1}),
        Case(
            "fp32-2x700-reverse",
            "fp32",
            {"M": 2, "N": 700, "reverse": 1},
            options={"block": 256},
            requires=REVERSE,
        ),
        Case("bf16-3x333-reverse", "bf16", {"M": 3, "N": 333, "reverse": 1}, requires=REVERSE),
    ),
    # measured: 7.7e-8, 2.1e-4; bf16 is the rounding of the output, 1.7e-3
    tolerance={"fp32": 5e-6, "fp16": 1e-3, "bf16": 8e-3},
)
