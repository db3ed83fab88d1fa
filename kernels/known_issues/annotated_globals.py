"""A kernel that reads a global which is annotated as a constexpr, and not made one."""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, kernel_of

BLOCK: tl.constexpr = 64
FACTOR: tl.constexpr = 3


@triton.jit
def _scale_kernel(x_ptr, y_ptr, size):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, FACTOR * tl.load(x_ptr + at, mask=at < size), mask=at < size)


def launch(x):
    y = torch.empty_like(x)
    _scale_kernel[(triton.cdiv(x.numel(), 64),)](x, y, x.numel())
    return {"y": y}


def reference(x):
    return {"y": x.double() * 3}


def inputs(case, device, generator):
    x = torch.randn(case.shape["N"], generator=generator, device=generator.device)
    return {"x": x.to(device)}


KERNEL = kernel_of(
    globals(),
    # an interpreter reads what Python has
    cases=(Case("two", "fp32", {"N": 333}, ("compile", "emulate", "device"), ("sm_80",)),),
    # measured: the rounding of a product
    tolerance={"fp32": 2e-7},
)
