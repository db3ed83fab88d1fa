"""A tile transposed and transposed back: 2.3 fails to infer the type of the transposes that it then removes."""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, kernel_of

ROWS, COLUMNS = 16, 64


@triton.jit
def _back_kernel(x_ptr, y_ptr, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    at = tl.arange(0, ROWS)[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    tl.store(y_ptr + at, tl.trans(tl.trans(tl.load(x_ptr + at))))


def launch(x):
    y = torch.empty_like(x)
    _back_kernel[(1,)](x, y, ROWS=ROWS, COLUMNS=COLUMNS)
    return {"y": y}


def reference(x):
    return {"y": x.double()}


def inputs(case, device, generator):
    x = torch.randn(ROWS, COLUMNS, generator=generator, device=generator.device)
    return {"x": x.to(device, case.torch_dtype)}


KERNEL = kernel_of(
    globals(),
    cases=(Case("tile", "fp32", {"M": ROWS, "N": COLUMNS}, targets=("sm_80", "sm_90")),),
    # nothing is computed
    tolerance={"fp32": 0.0},
)
