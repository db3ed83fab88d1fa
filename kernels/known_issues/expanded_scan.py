"""A running sum that gets a second dimension: the compiler of 2.3 takes the layout of the result for another kind."""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, kernel_of

BLOCK = 64


@triton.jit
def _scan_kernel(x_ptr, y_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    sums = tl.cumsum(tl.load(x_ptr + at), 0)
    tl.store(y_ptr + at[:, None], tl.expand_dims(sums, 1))


def launch(x):
    y = torch.empty_like(x)
    _scan_kernel[(1,)](x, y, BLOCK=BLOCK)
    return {"y": y}


def reference(x):
    return {"y": x.double().cumsum(0)}


def inputs(case, device, generator):
    x = torch.randint(-8, 8, (BLOCK,), generator=generator, device=generator.device)
    return {"x": x.to(device, case.torch_dtype)}


KERNEL = kernel_of(
    globals(),
    cases=(Case("column", "fp32", {"N": BLOCK}, targets=("sm_80", "sm_90")),),
    # integers, summed up exactly
    tolerance={"fp32": 0.0},
)
