"""Arithmetic and a comparison with the width of a dtype, which is a plain number of Python's."""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, kernel_of

BLOCK = 64


@triton.jit
def _scaled_kernel(x_ptr, y_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    tl.store(y_ptr + at, x * (1 << (x.dtype.primitive_bitwidth - 30)))


@triton.jit
def _widths_kernel(x_ptr, y_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    if x.dtype.primitive_bitwidth == 32:
        x *= 4
    else:
        x *= 2
    tl.store(y_ptr + at, x)


KERNELS = {"scaled": _scaled_kernel, "widths": _widths_kernel}


def launch(x, which):
    y = torch.empty_like(x)
    KERNELS[which][(1,)](x, y, x.shape[0])
    return {"y": y}


def reference(x):
    return {"y": x.double() * 4}


def inputs(case, device, generator):
    x = torch.randint(-8, 8, (BLOCK,), generator=generator, device=generator.device)
    return {"x": x.to(device, case.torch_dtype)}


KERNEL = kernel_of(
    globals(),
    cases=tuple(
        Case(
            which,
            "fp32",
            {"N": BLOCK},
            targets=("sm_80", "sm_90", "gfx942"),
            options={"which": which},
        )
        for which in KERNELS
    ),
    # small integers are exact
    tolerance={"fp32": 0.0},
)
