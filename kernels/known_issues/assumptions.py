"""A kernel that states to the compiler what always holds of its arguments, as inductor's do."""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, kernel_of

BLOCK = 64


@triton.jit
def _copied_kernel(x_ptr, y_ptr, stride, BLOCK: tl.constexpr):
    tl.assume(stride > 0)
    for row in range(2):
        tl.assume(row * stride >= 0)
        at = row * stride + tl.arange(0, BLOCK)
        tl.store(y_ptr + at, tl.load(x_ptr + at) + 1)


def launch(x):
    y = torch.empty_like(x)
    _copied_kernel[(1,)](x, y, x.stride(0), x.shape[1])
    return {"y": y}


def reference(x):
    return {"y": x.double() + 1}


def inputs(case, device, generator):
    x = torch.randint(-8, 8, (2, BLOCK), generator=generator, device=generator.device)
    return {"x": x.to(device, case.torch_dtype)}


KERNEL = kernel_of(
    globals(),
    cases=(Case("rows", "fp32", {"M": 2, "N": BLOCK}, targets=("sm_80", "sm_90", "gfx942")),),
    # small integers are exact
    tolerance={"fp32": 0.0},
)
