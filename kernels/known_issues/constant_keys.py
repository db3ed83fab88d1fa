"""One kernel's text with two values of the constant that it reads, as a file before it was edited and afterwards."""

from types import FunctionType

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, kernel_of

FACTOR = tl.constexpr(1)


def scale(x_ptr, y_ptr, size, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, FACTOR * tl.load(x_ptr + at, mask=at < size), mask=at < size)


def compiled_with(factor):
    """The kernel of a module whose FACTOR is this one."""
    names = {**globals(), "FACTOR": tl.constexpr(factor)}
    function = FunctionType(scale.__code__, names, "scale")
    function.__annotations__ = dict(scale.__annotations__)
    return triton.jit(function)


def launch(x):
    results = {}
    for factor in (3, 5):
        y = results[f"times_{factor}"] = torch.empty_like(x)
        compiled_with(factor)[(triton.cdiv(x.numel(), 64),)](x, y, x.numel(), BLOCK=64)
    return results


def reference(x):
    return {f"times_{factor}": x.double() * factor for factor in (3, 5)}


def inputs(case, device, generator):
    x = torch.randn(case.shape["N"], generator=generator, device=generator.device)
    return {"x": x.to(device)}


KERNEL = kernel_of(
    globals(),
    # an interpreter compiles nothing
    cases=(Case("two", "fp32", {"N": 333}, ("emulate", "device"), ("sm_80",)),),
    # measured: the rounding of a product
    tolerance={"fp32": 2e-7},
)
