"""A matrix product in TF32, asked for by name, for targets that have no TF32: full precision would do."""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, kernel_of

SIZE = 32


@triton.jit
def _product_kernel(a_ptr, b_ptr, c_ptr, SIZE: tl.constexpr, PRECISION: tl.constexpr):
    at = tl.arange(0, SIZE)[:, None] * SIZE + tl.arange(0, SIZE)[None, :]
    c = tl.dot(tl.load(a_ptr + at), tl.load(b_ptr + at), input_precision=PRECISION)
    tl.store(c_ptr + at, c)


def launch(a, b, precision):
    c = torch.empty_like(a)
    _product_kernel[(1,)](a, b, c, SIZE=SIZE, PRECISION=precision, num_warps=4)
    return {"c": c}


def reference(a, b, precision):
    return {"c": a.double() @ b.double()}


def inputs(case, device, generator):
    a, b = (
        torch.randn(SIZE, SIZE, generator=generator, device=generator.device).to(device)
        for _ in "ab"
    )
    return {"a": a, "b": b, "precision": case.id}


KERNEL = kernel_of(
    globals(),
    cases=(Case("tf32", "fp32", {}, targets=("sm_80", "sm_90", "gfx90a", "gfx942")),),
    uses=("dot",),
    # where there is TF32
    tolerance={"fp32": 3e-3},
)
