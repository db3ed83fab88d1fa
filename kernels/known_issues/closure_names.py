"""Kernels made inside a function, which read what that function has: the language, a number, another kernel."""

import torch

from crosswarp.kernels.case import Case, kernel_of


def _made(factor):
    import triton
    import triton.language as tl

    FACTOR = tl.constexpr(factor)

    @triton.jit
    def kernel(x_ptr, y_ptr, size, BLOCK: tl.constexpr):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + at, mask=at < size)
        tl.store(y_ptr + at, scaled(x), mask=at < size)

    # made after the kernel that calls it
    @triton.jit
    def scaled(x):
        return FACTOR * x

    return kernel


def launch(x, factor):
    y = torch.empty_like(x)
    _made(factor)[(-(-x.numel() // 64),)](x, y, x.numel(), BLOCK=64)
    return {f"times_{factor}": y}


def reference(x, factor):
    return {f"times_{factor}": x.double() * factor}


def inputs(case, device, generator):
    x = torch.randn(case.shape["N"], generator=generator, device=generator.device)
    return {"x": x.to(device), "factor": case.shape["factor"]}


KERNEL = kernel_of(
    globals(),
    # an interpreter reads what Python has, and has to find the language in the module
    cases=(
        # and one number, as two are another bug (constant_keys.py)
        Case("three", "fp32", {"N": 333, "factor": 3}, ("compile", "emulate", "device")),
    ),
    # measured: the rounding of a product
    tolerance={"fp32": 2e-7},
)
