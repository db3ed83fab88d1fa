"""Two names of `triton.language.core` that sorting kernels take from Triton's own, and that Triton 2.3 lacks."""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, kernel_of

BLOCK = 64


@triton.jit
def _whole_kernel(x_ptr, y_ptr, BLOCK: tl.constexpr):
    at = tl.core.CONSTEXPR_0 + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    whole = tl.core.get_int_dtype(bitwidth=x.dtype.primitive_bitwidth, signed=True)
    sign = x.to(whole, bitcast=True) >> 31
    tl.store(y_ptr + at, x.to(whole) + sign)


def launch(x):
    y = torch.empty_like(x)
    _whole_kernel[(1,)](x, y, x.numel())
    return {"y": y}


def reference(x):
    return {"y": x.double().trunc() - torch.signbit(x).double()}


def inputs(case, device, generator):
    x = torch.randn(BLOCK, generator=generator, device=generator.device) * 3
    return {"x": x.to(device, case.torch_dtype)}


KERNEL = kernel_of(
    globals(),
    cases=(Case("sign", "fp32", {"N": BLOCK}, targets=("sm_90",)),),
    # small integers are exact
    tolerance={"fp32": 0.0},
)
