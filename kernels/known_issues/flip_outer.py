"""`tl.flip(x, 0)` of a tensor of two dimensions: before Triton 3.4 only the last dimension can be flipped."""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, kernel_of

ROWS, COLUMNS = 16, 32


@triton.jit
def _flip_kernel(x_ptr, y_ptr, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    at = tl.arange(0, ROWS)[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    tl.store(y_ptr + at, tl.flip(tl.load(x_ptr + at), 0))


def launch(x):
    y = torch.empty_like(x)
    _flip_kernel[(1,)](x, y, ROWS=ROWS, COLUMNS=COLUMNS)
    return {"y": y}


def reference(x):
    return {"y": x.double().flip(0)}


def inputs(case, device, generator):
    x = torch.randn(ROWS, COLUMNS, generator=generator, device=generator.device)
    return {"x": x.to(device, case.torch_dtype)}


KERNEL = kernel_of(
    globals(),
    cases=(Case("rows", "fp32", {"M": ROWS, "N": COLUMNS}, targets=("sm_90",)),),
    # nothing is computed
    tolerance={"fp32": 0.0},
)
