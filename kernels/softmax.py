"""Softmax over the last dimension: an online pass for maximum and sum, then a pass that writes."""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, Kernel


@triton.jit
def _softmax_kernel(x_ptr, y_ptr, x_stride, y_stride, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
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


def launch(x):
    rows, width = x.shape
    y = torch.empty_like(x)
    # 512 at most, so that a row of ordinary length takes several turns of the loop
    block = min(512, triton.next_power_of_2(width))
    _softmax_kernel[(rows,)](x, y, x.stride(0), y.stride(0), width, BLOCK=block, num_warps=4)
    return {"y": y}


def reference(x):
    x64 = x.double()
    weight = (x64 - x64.amax(1, keepdim=True)).exp()
    return {"y": weight / weight.sum(1, keepdim=True)}


def inputs(case, device, generator):
    rows, width = case.shape["M"], case.shape["N"]
    x = torch.randn(rows, width, generator=generator, device=generator.device, dtype=torch.float32)
    # far from zero, where exp without the maximum taken off would overflow
    return {"x": (x * 4 + 100).to(device, case.torch_dtype)}


KERNEL = Kernel(
    name="softmax",
    cases=(
        Case("fp32-3x1111", "fp32", {"M": 3, "N": 1111}),
        Case("fp16-1x1", "fp16", {"M": 1, "N": 1}),
        Case("fp16-33x77", "fp16", {"M": 33, "N": 77}),
        Case("bf16-5x1500", "bf16", {"M": 5, "N": 1500}),
    ),
    inputs=inputs,
    launch=launch,
    reference=reference,
    # measured: 1.9e-7, 2.0e-4; bf16 is the rounding of the output, 1.9e-3
    tolerance={"fp32": 5e-6, "fp16": 1e-3, "bf16": 8e-3},
)
