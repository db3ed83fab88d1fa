"""A product that is used twice: as an operand of a second one, and added to that second one.

With more warps than the rows fill on Hopper, the two products are laid out over the warps in different ways, and the
compilers before Triton 3.2 had no way from one to the other.
"""

from typing import Any, Dict

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, kernel_of

SIZE = 64


@triton.jit
def _twice_kernel(x_ptr, y_ptr, z_ptr, out_ptr, N: tl.constexpr):
    rows = tl.arange(0, N)
    at = rows[:, None] * N + rows[None, :]
    first = tl.dot(tl.load(x_ptr + at), tl.load(y_ptr + at))
    z = tl.load(z_ptr + at)
    tl.store(out_ptr + at, first + tl.dot(first.to(z.dtype), z))


def launch(x, y, z, num_warps=8):
    out = torch.empty((SIZE, SIZE), dtype=torch.float32, device=x.device)
    _twice_kernel[(1,)](x, y, z, out, N=SIZE, num_warps=num_warps)
    return {"out": out}


def reference(x, y, z):
    first = x.double() @ y.double()
    return {"out": first + first @ z.double()}


def inputs(case, device, generator):
    return {
        name: torch.randn(SIZE, SIZE, generator=generator, device=generator.device).to(
            device, case.torch_dtype
        )
        for name in "xyz"
    }


NVIDIA: Dict[str, Any] = {"lanes": ("compile", "emulate", "device"), "targets": ("sm_80", "sm_90")}

KERNEL = kernel_of(
    globals(),
    cases=(
        Case("bf16-64-4warps", "bf16", {"N": SIZE}, options={"num_warps": 4}, **NVIDIA),
        Case("bf16-64-8warps", "bf16", {"N": SIZE}, options={"num_warps": 8}, **NVIDIA),
        Case("bf16-64-16warps", "bf16", {"N": SIZE}, options={"num_warps": 16}, **NVIDIA),
    ),
    # the rounding of the first product to bf16
    tolerance={"bf16": 1e-2},
    uses=("dot",),
)
