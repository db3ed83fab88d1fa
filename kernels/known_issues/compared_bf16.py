"""bfloat16 compared with bfloat16, and added up by a function that this file defines."""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, kernel_of

SIZE = 32


@triton.jit
def _added(a, b):
    return a + b


@triton.jit
def _less_kernel(x_ptr, y_ptr, out_ptr, SIZE: tl.constexpr):
    at = tl.arange(0, SIZE)[:, None] * SIZE + tl.arange(0, SIZE)[None, :]
    less = tl.load(x_ptr + at) < tl.load(y_ptr + at)
    tl.store(out_ptr + at, less.to(tl.int8))


@triton.jit
def _sum_kernel(x_ptr, out_ptr, SIZE: tl.constexpr):
    at = tl.arange(0, SIZE)[:, None] * SIZE + tl.arange(0, SIZE)[None, :]
    tl.store(out_ptr + tl.arange(0, SIZE), tl.reduce(tl.load(x_ptr + at), 0, _added))


def launch(x, y, way):
    if way == "less":
        out = torch.empty((SIZE, SIZE), dtype=torch.int8, device=x.device)
        _less_kernel[(1,)](x, y, out, SIZE=SIZE)
    else:
        out = torch.empty(SIZE, dtype=x.dtype, device=x.device)
        _sum_kernel[(1,)](x, out, SIZE=SIZE)
    return {"out": out}


def reference(x, y, way):
    return {"out": (x < y).to(torch.int8) if way == "less" else x.double().sum(0)}


def inputs(case, device, generator):
    def drawn():
        made = torch.randint(-4, 5, (SIZE, SIZE), generator=generator, device=generator.device)
        return made.to(device, case.torch_dtype)

    return {"x": drawn(), "y": drawn(), "way": case.id}


LANES, TARGETS = ("compile", "emulate", "device"), ("sm_80", "sm_90")

KERNEL = kernel_of(
    globals(),
    cases=(Case("less", "bf16", {}, LANES, TARGETS), Case("sum", "bf16", {}, LANES, TARGETS)),
    # integers, whose sums are less than 256
    tolerance={"bf16": 0.0},
)
