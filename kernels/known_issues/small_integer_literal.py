"""An int8 tensor and a number of Python's: the sum is int32 up to Triton 3.1, and int8, as in PyTorch, from 3.2 on."""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, kernel_of

BLOCK = 64


@triton.jit
def _increment_kernel(x_ptr, y_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(y_ptr + at, (tl.load(x_ptr + at) + 1).to(tl.int32))


def launch(x):
    y = torch.empty(BLOCK, dtype=torch.int32, device=x.device)
    _increment_kernel[(1,)](x, y, BLOCK=BLOCK)
    return {"y": y}


def reference(x):
    return {"y": (x + 1).to(torch.int32)}


def inputs(case, device, generator):
    # the largest of them among others: 127 + 1 is -128 in int8
    x = torch.randint(-128, 127, (BLOCK,), generator=generator, device=generator.device)
    x[::7] = 127
    return {"x": x.to(device, torch.int8)}


KERNEL = kernel_of(
    globals(),
    cases=(Case("int8", "int8", {"N": BLOCK}, targets=("sm_80", "sm_90")),),
    tolerance={"int8": 0.0},
)
