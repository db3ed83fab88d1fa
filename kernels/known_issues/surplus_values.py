"""Two names for three values: dropped in silence by every Triton up to 3.8, refused since 3.9."""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, kernel_of


@triton.jit
def _copy_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    block, row = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    at = (row + block) * BLOCK + tl.arange(0, BLOCK)
    value, factor = tl.load(x_ptr + at, mask=at < n), 2.0, 3.0
    tl.store(y_ptr + at, value * factor + 4.0, mask=at < n)


def launch(x):
    y = torch.empty_like(x)
    _copy_kernel[(triton.cdiv(x.numel(), 64), 1)](x, y, x.numel(), BLOCK=64)
    return {"y": y}


def reference(x):
    return {"y": x.double() * 2 + 4}


def inputs(case, device, generator):
    made = torch.randn(case.shape["N"], generator=generator, device=generator.device)
    return {"x": made.to(device, case.torch_dtype)}


KERNEL = kernel_of(
    globals(),
    cases=(
        Case(
            "fp32-100",
            "fp32",
            {"N": 100},
            targets=("sm_90",),
            lanes=("compile", "emulate", "device"),
        ),
    ),
    tolerance={"fp32": 1e-6},
)
