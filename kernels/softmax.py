"""Softmax over the last dimension, forward and backward.

A row that fits into one block is read once. A longer one is walked through twice: an online pass for maximum and sum
(backward: for the sum), then a pass that writes.
"""

import torch
import triton
import triton.language as tl

from crosswarp.compat.launch import num_warps
from crosswarp.kernels.case import Case, kernel_of

LARGEST_BLOCK = 32768


@triton.jit
def _softmax_kernel(x_ptr, y_ptr, x_stride, y_stride, N, BLOCK: tl.constexpr, WHOLE: tl.constexpr):
    # 64 bits: rows times columns may pass 2^31
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    if WHOLE:
        mask = cols < N
        x = tl.load(x_ptr + row * x_stride + cols, mask=mask, other=-float("inf")).to(tl.float32)
        weight = tl.exp(x - tl.max(x, axis=0))
        y = weight / tl.sum(weight, axis=0)
        tl.store(y_ptr + row * y_stride + cols, y.to(y_ptr.dtype.element_ty), mask=mask)
    else:
        top = -float("inf")
        total = 0.0
        for start in range(0, N, BLOCK):
            x = tl.load(
                x_ptr + row * x_stride + start + cols, mask=start + cols < N, other=-float("inf")
            ).to(tl.float32)
            new_top = tl.maximum(top, tl.max(x, axis=0))
            total = total * tl.exp(top - new_top) + tl.sum(tl.exp(x - new_top), axis=0)
            top = new_top
        for start in range(0, N, BLOCK):
            mask = start + cols < N
            x = tl.load(x_ptr + row * x_stride + start + cols, mask=mask, other=-float("inf")).to(
                tl.float32
            )
            y = tl.exp(x - top) / total
            tl.store(y_ptr + row * y_stride + start + cols, y.to(y_ptr.dtype.element_ty), mask=mask)


@triton.jit
def _backward_kernel(
    y_ptr,
    dy_ptr,
    dx_ptr,
    y_stride,
    dy_stride,
    dx_stride,
    N,
    BLOCK: tl.constexpr,
    WHOLE: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    y_ptr += row * y_stride
    dy_ptr += row * dy_stride
    dx_ptr += row * dx_stride
    cols = tl.arange(0, BLOCK)
    if WHOLE:
        mask = cols < N
        y = tl.load(y_ptr + cols, mask=mask, other=0.0).to(tl.float32)
        dy = tl.load(dy_ptr + cols, mask=mask, other=0.0).to(tl.float32)
        dx = y * (dy - tl.sum(y * dy, axis=0))
        tl.store(dx_ptr + cols, dx.to(dx_ptr.dtype.element_ty), mask=mask)
    else:
        parts = tl.zeros([BLOCK], dtype=tl.float32)
        for start in range(0, N, BLOCK):
            mask = start + cols < N
            y = tl.load(y_ptr + start + cols, mask=mask, other=0.0).to(tl.float32)
            dy = tl.load(dy_ptr + start + cols, mask=mask, other=0.0).to(tl.float32)
            parts += y * dy
        along = tl.sum(parts, axis=0)
        for start in range(0, N, BLOCK):
            mask = start + cols < N
            y = tl.load(y_ptr + start + cols, mask=mask, other=0.0).to(tl.float32)
            dy = tl.load(dy_ptr + start + cols, mask=mask, other=0.0).to(tl.float32)
            dx = y * (dy - along)
            tl.store(dx_ptr + start + cols, dx.to(dx_ptr.dtype.element_ty), mask=mask)


def launch(x, y_before, dy, block=None):
    """The softmax of x, and the gradient of the one whose output was y_before."""
    rows, width = x.shape
    block = block or min(LARGEST_BLOCK, triton.next_power_of_2(width))
    options = {"BLOCK": block, "WHOLE": block >= width, "num_warps": num_warps(block)}
    y, dx = torch.empty_like(x), torch.empty_like(x)
    _softmax_kernel[(rows,)](x, y, x.stride(0), y.stride(0), width, **options)
    _backward_kernel[(rows,)](
        y_before, dy, dx, y_before.stride(0), dy.stride(0), dx.stride(0), width, **options
    )
    return {"y": y, "dx": dx}


def reference(x, y_before, dy):
    x64, y64, dy64 = (t.double() for t in (x, y_before, dy))
    weight = (x64 - x64.amax(1, keepdim=True)).exp()
    return {
        "y": weight / weight.sum(1, keepdim=True),
        "dx": y64 * (dy64 - (y64 * dy64).sum(1, keepdim=True)),
    }


def inputs(case, device, generator):
    rows, width = case.shape["M"], case.shape["N"]

    def normal():
        size = (rows, width)
        return torch.randn(size, generator=generator, device=generator.device, dtype=torch.float32)

    # far from zero, where exp without the maximum taken off would overflow; of a single class the gradient would be
    # nothing but rounding error if its probability were 1
    return {
        "x": (normal() * 4 + 100).to(device, case.torch_dtype),
        "y_before": ((normal() * 2).softmax(1) * (0.5 if width == 1 else 1)).to(
            device, case.torch_dtype
        ),
        "dy": normal().to(device, case.torch_dtype),
    }


KERNEL = kernel_of(
    globals(),
    batch="M",
    cases=(
        Case("fp32-3x1111", "fp32", {"M": 3, "N": 1111}, options={"block": 512}),
        Case("fp32-5x700-whole", "fp32", {"M": 5, "N": 700}),
        Case("fp16-1x1", "fp16", {"M": 1, "N": 1}),
        Case("fp16-33x77", "fp16", {"M": 33, "N": 77}),
        Case("bf16-5x1500", "bf16", {"M": 5, "N": 1500}, options={"block": 512}),
    ),
    # measured: 1.9e-7, 2.4e-4; bf16 is the rounding of the output, 2.0e-3
    tolerance={"fp32": 5e-6, "fp16": 1e-3, "bf16": 8e-3},
)
