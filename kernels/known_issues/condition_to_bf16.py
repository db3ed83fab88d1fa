"""The mask of a dropout or a ReLU as bfloat16, one and zero, to be multiplied by."""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, kernel_of

BLOCK = 128


@triton.jit
def _mask_kernel(x_ptr, y_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    tl.store(y_ptr + at, (x > 0).to(tl.bfloat16))


def launch(x):
    y = torch.empty_like(x)
    _mask_kernel[(1,)](x, y, BLOCK=BLOCK, num_warps=4)
    return {"y": y}


def reference(x):
    return {"y": (x.double() > 0).double()}


def inputs(case, device, generator):
    x = torch.randn(BLOCK, generator=generator, device=generator.device)
    return {"x": x.to(device, case.torch_dtype)}


KERNEL = kernel_of(
    globals(),
    cases=(Case("mask", "bf16", {"N": BLOCK}),),
    # one and zero
    tolerance={"bf16": 0.0},
)
