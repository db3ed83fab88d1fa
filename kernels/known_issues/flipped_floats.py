"""Rows that are flipped and hold infinities, as logits that are masked do; and rows beside themselves flipped."""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, kernel_of


@triton.jit
def _flip_kernel(x_ptr, y_ptr, ROWS: tl.constexpr, SIZE: tl.constexpr):
    at = tl.arange(0, ROWS)[:, None] * SIZE + tl.arange(0, SIZE)[None, :]
    tl.store(y_ptr + at, tl.flip(tl.load(x_ptr + at), 1))


@triton.jit
def _joined_kernel(x_ptr, y_ptr, ROWS: tl.constexpr, SIZE: tl.constexpr):
    at = tl.arange(0, ROWS)[:, None] * SIZE + tl.arange(0, SIZE)[None, :]
    x = tl.load(x_ptr + at)
    y = tl.reshape(tl.join(tl.flip(x, 1), x), [ROWS, 2 * SIZE])
    twice = tl.arange(0, ROWS)[:, None] * (2 * SIZE) + tl.arange(0, 2 * SIZE)[None, :]
    tl.store(y_ptr + twice, y)


def launch(x, joined):
    rows, size = x.shape
    y = torch.empty(rows, 2 * size if joined else size, dtype=x.dtype, device=x.device)
    kernel = _joined_kernel if joined else _flip_kernel
    kernel[(1,)](x, y, ROWS=rows, SIZE=size, num_warps=4)
    return {"y": y}


def reference(x, joined):
    flipped = x.double().flip(1)
    return {"y": torch.stack([flipped, x.double()], -1).flatten(1) if joined else flipped}


def inputs(case, device, generator):
    rows, size = case.shape["M"], case.shape["N"]
    x = torch.randn(rows, size, generator=generator, device=generator.device)
    joined = case.id.startswith("joined")
    if not joined:
        masked = torch.rand(rows, size, generator=generator, device=generator.device) < 0.25
        x[masked] = float("-inf")
    return {"x": x.to(device, case.torch_dtype), "joined": joined}


SHAPE = {"M": 8, "N": 32}

KERNEL = kernel_of(
    globals(),
    cases=(
        Case("infinity", "fp32", SHAPE),
        Case("infinity-fp16", "fp16", SHAPE),
        Case("joined-bf16", "bf16", SHAPE),
    ),
    # nothing is computed
    tolerance={"fp32": 0.0, "fp16": 0.0, "bf16": 0.0},
)
