"""A store of values cast to `block_pointer.type.element_ty`, the type that it points to, which Triton 3.8 lacks
there."""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, kernel_of

BLOCK = 64


@triton.jit
def _halve_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    first = tl.program_id(0) * BLOCK
    x = tl.make_block_ptr(x_ptr, (n,), (1,), (first,), (BLOCK,), (0,))
    y = tl.make_block_ptr(y_ptr, (n,), (1,), (first,), (BLOCK,), (0,))
    half = tl.load(x, boundary_check=(0,)).to(tl.float32) * 0.5
    tl.store(y, half.to(y.type.element_ty), boundary_check=(0,))


def launch(x):
    y = torch.empty_like(x)
    _halve_kernel[(triton.cdiv(x.numel(), BLOCK),)](x, y, x.numel(), BLOCK=BLOCK)
    return {"y": y}


def reference(x):
    return {"y": x.double() * 0.5}


def inputs(case, device, generator):
    x = torch.randn(case.shape["N"], generator=generator, device=generator.device)
    return {"x": x.to(device, case.torch_dtype)}


KERNEL = kernel_of(
    globals(),
    cases=(Case("half", "fp16", {"N": 1000}, targets=("sm_90",)),),
    # one rounding, of a product with a power of two: none but where it is subnormal
    tolerance={"fp16": 1e-7},
)
