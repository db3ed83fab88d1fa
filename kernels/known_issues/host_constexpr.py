"""A tl.constexpr used by the host: added to, compared, looked up in a table, passed to a kernel, and as its default."""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, kernel_of

BLOCK = 64


@triton.jit
def _scale_kernel(x_ptr, y_ptr, BLOCK: tl.constexpr, FACTOR: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at) * FACTOR)


THREE = tl.constexpr(3)


@triton.jit
def _default_kernel(x_ptr, y_ptr, BLOCK: tl.constexpr, FACTOR: tl.constexpr = THREE):
    at = tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at) * FACTOR)


def launch(x, use):
    y = torch.empty_like(x)
    if use == "default":
        _default_kernel[(1,)](x, y, x.numel())
        return {"y": y}
    half = tl.constexpr(BLOCK // 2)
    block = half + half
    if block != BLOCK or 1 + half == 1:
        msg = "the host cannot compare"
        raise RuntimeError(msg)
    factors = {tl.constexpr(BLOCK): 3}
    _scale_kernel[(1,)](x, y, block, FACTOR=tl.constexpr(factors[block]))
    return {"y": y}


def reference(x, use):
    return {"y": x.double() * 3}


def inputs(case, device, generator):
    x = torch.randn(BLOCK, generator=generator, device=generator.device)
    return {"x": x.to(device, case.torch_dtype), "use": case.id}


KERNEL = kernel_of(
    globals(),
    cases=(
        Case("table", "fp32", {"N": BLOCK}, targets=("sm_90",)),
        Case("default", "fp32", {"N": BLOCK}, targets=("sm_90",)),
    ),
    # a product with 3 is rounded once
    tolerance={"fp32": 1e-6},
)
