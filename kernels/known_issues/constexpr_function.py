"""A Python function that a kernel calls while it is compiled: in `tl` on 3.4, in `triton` later, nowhere before."""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, kernel_of

BLOCK = 64


def _half(size):
    return size // 2


@triton.jit
def _half_kernel(x_ptr, y_ptr, BLOCK: tl.constexpr):
    HALF: tl.constexpr = half_in_triton(BLOCK) + half_in_tl(BLOCK) - BLOCK // 2
    at = tl.arange(0, HALF)
    tl.store(y_ptr + at, tl.load(x_ptr + at) * HALF)


# Wrapped at the launch: where Triton has no such name, this file can still be imported.
half_in_triton = half_in_tl = None


def launch(x):
    global half_in_triton, half_in_tl
    half_in_triton, half_in_tl = triton.constexpr_function(_half), tl.constexpr_function(_half)
    y = torch.zeros_like(x)
    _half_kernel[(1,)](x, y, x.numel())
    return {"y": y}


def reference(x):
    half = x.numel() // 2
    return {"y": torch.cat([x[:half].double() * half, torch.zeros_like(x[half:]).double()])}


def inputs(case, device, generator):
    x = torch.randn(BLOCK, generator=generator, device=generator.device)
    return {"x": x.to(device, case.torch_dtype)}


KERNEL = kernel_of(
    globals(),
    cases=(Case("both", "fp32", {"N": BLOCK}, targets=("sm_90",)),),
    # a product with a power of two is exact
    tolerance={"fp32": 1e-7},
)
