"""A range compared for equality with a number: an index that is marked, and a row that is left out."""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, kernel_of

# so many that each thread has several of both
MARKED, SIZE = 1024, 64


@triton.jit
def _mark_kernel(x_ptr, y_ptr, SIZE: tl.constexpr):
    at = tl.arange(0, SIZE)
    y = tl.load(x_ptr + at)
    y = tl.where(at == 0, -1.0, y)
    y = tl.where(at == 24, -2.0, y)
    tl.store(y_ptr + at, y)


@triton.jit
def _column_kernel(x_ptr, y_ptr, SIZE: tl.constexpr):
    rows = tl.arange(0, SIZE)
    at = rows[:, None] * SIZE + rows[None, :]
    y = tl.load(x_ptr + at, mask=rows[None, :] != 16, other=0.0)
    tl.store(y_ptr + at, y)


def launch(x, way):
    y = torch.empty_like(x)
    if way == "marked":
        _mark_kernel[(1,)](x, y, SIZE=MARKED)
    else:
        _column_kernel[(1,)](x, y, SIZE=SIZE)
    return {"y": y}


def reference(x, way):
    y = x.double().clone()
    if way == "marked":
        y[0], y[24] = -1, -2
    else:
        y.view(SIZE, SIZE)[:, 16] = 0
    return {"y": y}


def inputs(case, device, generator):
    elements = MARKED if case.id == "marked" else SIZE * SIZE
    x = torch.randint(1, 10, (elements,), generator=generator, device=generator.device)
    return {"x": x.to(device, case.torch_dtype), "way": case.id}


KERNEL = kernel_of(
    globals(),
    cases=(
        Case("marked", "fp32", {}, targets=("sm_80", "sm_90")),
        Case("column", "fp32", {}, targets=("sm_80", "sm_90")),
    ),
    # integers, all of them exact
    tolerance={"fp32": 0.0},
)
