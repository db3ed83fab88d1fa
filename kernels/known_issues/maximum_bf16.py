"""The larger and the smaller of two bfloat16 tiles, which stay bfloat16."""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, kernel_of

SIZE = 128


@triton.jit
def _extremes_kernel(a_ptr, b_ptr, larger_ptr, smaller_ptr, SIZE: tl.constexpr):
    at = tl.arange(0, SIZE)
    a, b = tl.load(a_ptr + at), tl.load(b_ptr + at)
    tl.store(larger_ptr + at, tl.maximum(a, b))
    tl.store(smaller_ptr + at, tl.minimum(a, b))


def launch(a, b):
    larger, smaller = torch.empty_like(a), torch.empty_like(a)
    _extremes_kernel[(1,)](a, b, larger, smaller, SIZE=SIZE)
    return {"larger": larger, "smaller": smaller}


def reference(a, b):
    a, b = a.double(), b.double()
    return {"larger": torch.maximum(a, b), "smaller": torch.minimum(a, b)}


def inputs(case, device, generator):
    def drawn():
        made = torch.randn(SIZE, generator=generator, device=generator.device)
        return made.to(device, case.torch_dtype)

    return {"a": drawn(), "b": drawn()}


KERNEL = kernel_of(
    globals(),
    cases=(Case("vector", "bf16", {"N": SIZE}, targets=("sm_80", "sm_90")),),
    # one of two numbers, as it is
    tolerance={"bf16": 0.0},
)
