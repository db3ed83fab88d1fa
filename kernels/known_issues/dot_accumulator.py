"""A matrix product that adds to an accumulator of a type other than float32, without stating the type again."""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, kernel_of

SIZE = 32


@triton.jit
def _product_kernel(a_ptr, b_ptr, c_ptr, SIZE: tl.constexpr):
    at = tl.arange(0, SIZE)[:, None] * SIZE + tl.arange(0, SIZE)[None, :]
    c = tl.dot(tl.load(a_ptr + at), tl.load(b_ptr + at), tl.load(c_ptr + at))
    tl.store(c_ptr + at, c)


def launch(a, b, c, num_warps=4):
    c = c.clone()
    _product_kernel[(1,)](a, b, c, SIZE=SIZE, num_warps=num_warps)
    return {"c": c}


def reference(a, b, c):
    return {"c": c.double() + a.double() @ b.double()}


def inputs(case, device, generator):
    def drawn(dtype):
        made = torch.randint(-8, 8, (SIZE, SIZE), generator=generator, device=generator.device)
        return made.to(device, dtype)

    return {"a": drawn(torch.int8), "b": drawn(torch.int8), "c": drawn(torch.int32)}


KERNEL = kernel_of(
    globals(),
    cases=(
        Case("int8", "int8", {}, targets=("sm_80", "sm_90", "gfx942")),
        # As many threads as four warps of gfx942 have.
        Case("int8-8-warps", "int8", {}, targets=("sm_80", "sm_90"), options={"num_warps": 8}),
        Case("int8-2-warps", "int8", {}, targets=("gfx942",), options={"num_warps": 2}),
    ),
    uses=("dot",),
    # integers
    tolerance={"int8": 0.0},
)
