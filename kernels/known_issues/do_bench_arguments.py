"""`triton.testing.do_bench` was called with fast_flush=True for years; Triton 3.2 dropped the argument."""

import torch
import triton
import triton.language as tl
import triton.testing

from crosswarp.kernels.case import Case, kernel_of

BLOCK = 64


@triton.jit
def _double_kernel(x_ptr, y_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at) * 2)


def launch(x):
    y = torch.empty_like(x)
    triton.testing.do_bench(
        lambda: _double_kernel[(1,)](x, y, x.numel()), warmup=1, rep=1, fast_flush=True
    )
    return {"y": y}


def reference(x):
    return {"y": x.double() * 2}


def inputs(case, device, generator):
    x = torch.randn(BLOCK, generator=generator, device=generator.device)
    return {"x": x.to(device, case.torch_dtype)}


KERNEL = kernel_of(
    globals(),
    # The interpreter has nothing to time.
    cases=(
        Case(
            "fast_flush",
            "fp32",
            {"N": BLOCK},
            lanes=("compile", "emulate", "device"),
            targets=("sm_90",),
        ),
    ),
    # a product with 2 is exact
    tolerance={"fp32": 1e-7},
)
