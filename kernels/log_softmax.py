"""Log-softmax over the last dimension, forward and backward; a row that fits into one block is read once."""

import torch
import triton
import triton.language as tl

from crosswarp.compat.launch import num_warps
from crosswarp.kernels.case import Case, kernel_of

# a longer row is walked through twice
LARGEST_BLOCK = 32768


@triton.jit
def _forward_kernel(x_ptr, y_ptr, x_stride, y_stride, N, BLOCK: tl.constexpr, WHOLE: tl.constexpr):
    # 64 bits: rows times columns may pass 2^31
    row = tl.program_id(0).to(tl.int64)
    x_ptr += row * x_stride
    y_ptr += row * y_stride
    cols = tl.arange(0, BLOCK)
    if WHOLE:
        mask = cols < N
        x = tl.load(x_ptr + cols, mask=mask, other=-float("inf")).to(tl.float32)
        x -= tl.max(x, axis=0)
        y = x - tl.log(tl.sum(tl.exp(x), axis=0))
        tl.store(y_ptr + cols, y.to(y_ptr.dtype.element_ty), mask=mask)
    else:
        top = -float("inf")
        total = 0.0
        for start in range(0, N, BLOCK):
            mask = start + cols < N
            x = tl.load(x_ptr + start + cols, mask=mask, other=-float("inf")).to(tl.float32)
            new_top = tl.maximum(top, tl.max(x, axis=0))
            total = total * tl.exp(top - new_top) + tl.sum(tl.exp(x - new_top), axis=0)
            top = new_top
        log_total = tl.log(total)
        for start in range(0, N, BLOCK):
            mask = start + cols < N
            x = tl.load(x_ptr + start + cols, mask=mask, other=0.0).to(tl.float32)
            y = (x - top) - log_total
            tl.store(y_ptr + start + cols, y.to(y_ptr.dtype.element_ty), mask=mask)


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
        dx = dy - tl.exp(y) * tl.sum(dy, axis=0)
        tl.store(dx_ptr + cols, dx.to(dx_ptr.dtype.element_ty), mask=mask)
    else:
        parts = tl.zeros([BLOCK], dtype=tl.float32)
        for start in range(0, N, BLOCK):
            mask = start + cols < N
            parts += tl.load(dy_ptr + start + cols, mask=mask, other=0.0).to(tl.float32)
        total = tl.sum(parts, axis=0)
        for start in range(0, N, BLOCK):
            mask = start + cols < N
            y = tl.load(y_ptr + start + cols, mask=mask, other=0.0).to(tl.float32)
            dy = tl.load(dy_ptr + start + cols, mask=mask, other=0.0).to(tl.float32)
            dx = dy - tl.exp(y) * total
            tl.store(dx_ptr + start + cols, dx.to(dx_ptr.dtype.element_ty), mask=mask)


def launch(x, y_before, dy, block=None):
    """The log-softmax of x, and the gradient of the one whose output was y_before."""
    rows, width = x.shape
    block = block or min(LARGEST_BLOCK, triton.next_power_of_2(width))
    options = {"BLOCK": block, "WHOLE": block >= width, "num_warps": num_warps(block)}
    y, dx = torch.empty_like(x), torch.empty_like(x)
    _forward_kernel[(rows,)](x, y, x.stride(0), y.stride(0), width, **options)
    _backward_kernel[(rows,)](
        y_before, dy, dx, y_before.stride(0), dy.stride(0), dx.stride(0), width, **options
    )
    return {"y": y, "dx": dx}


def reference(x, y_before, dy):
    x64, dy64 = x.double(), dy.double()
    return {
        "y": x64 - x64.logsumexp(1, keepdim=True),
        "dx": dy64 - y_before.double().exp() * dy64.sum(1, keepdim=True),
    }


def inputs(case, device, generator):
    rows, width = case.shape["M"], case.shape["N"]

    def normal():
        size = (rows, width)
        return torch.randn(size, generator=generator, device=generator.device, dtype=torch.float32)

    # dy has a mean: without it the sum over the row, and with it half of the gradient, would be close to zero.
    return {
        "x": (normal() * 4 + 100).to(device, case.torch_dtype),
        "y_before": ((normal() * 4).log_softmax(1)).to(device, case.torch_dtype),
        "dy": (normal() + 0.5).to(device, case.torch_dtype),
    }


KERNEL = kernel_of(
    globals(),
    batch="M",
    cases=(
        Case("fp32-3x1111", "fp32", {"M": 3, "N": 1111}),
        Case("fp32-2x1500-walk", "fp32", {"M": 2, "N": 1500}, options={"block": 512}),
        Case("fp16-33x2", "fp16", {"M": 33, "N": 2}),
        Case("bf16-1x5000", "bf16", {"M": 1, "N": 5000}),
        Case("bf16-3x333-walk", "bf16", {"M": 3, "N": 333}, options={"block": 128}),
    ),
    # measured: 7.9e-8, 2.3e-4; bf16 is the rounding of the output, 2.1e-3
    tolerance={"fp32": 5e-6, "fp16": 1e-3, "bf16": 8e-3},
)
