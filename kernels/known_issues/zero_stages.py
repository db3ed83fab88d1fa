"""A loop that is launched with ``num_stages=0``, which asked Triton for AMD to pipeline it before 3.2."""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, kernel_of

BLOCK, ROWS = 64, 4


@triton.jit
def _sums_kernel(x_ptr, y_ptr, ROWS, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for row in range(ROWS):
        total += tl.load(x_ptr + row * BLOCK + at)
    tl.store(y_ptr + at, total)


def launch(x):
    y = torch.empty_like(x[0])
    _sums_kernel[(1,)](x, y, x.shape[0], x.shape[1], num_stages=0)
    return {"y": y}


def reference(x):
    return {"y": x.double().sum(0)}


def inputs(case, device, generator):
    x = torch.randint(-8, 8, (ROWS, BLOCK), generator=generator, device=generator.device)
    return {"x": x.to(device, case.torch_dtype)}


KERNEL = kernel_of(
    globals(),
    cases=(Case("sums", "fp32", {"M": ROWS, "N": BLOCK}, targets=("gfx9*", "gfx11*", "gfx12*")),),
    # small integers are exact
    tolerance={"fp32": 0.0},
)
