"""`tl.flip(x)` along the last dimension, the default when none is given."""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, kernel_of

BLOCK = 64


@triton.jit
def _flip_kernel(x_ptr, y_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.flip(tl.load(x_ptr + at)))


def launch(x):
    y = torch.empty_like(x)
    _flip_kernel[(1,)](x, y, x.numel())
    return {"y": y}


def reference(x):
    return {"y": x.double().flip(0)}


def inputs(case, device, generator):
    x = torch.randn(BLOCK, generator=generator, device=generator.device)
    return {"x": x.to(device, case.torch_dtype)}


KERNEL = kernel_of(
    globals(),
    cases=(Case("last", "fp32", {"N": BLOCK}, targets=("sm_90",)),),
    # nothing is computed
    tolerance={"fp32": 0.0},
)
