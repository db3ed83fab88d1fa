"""A constant that is transposed: there is nothing to load, and nothing to move."""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, kernel_of

ROWS, COLUMNS = 64, 32


@triton.jit
def _transpose_kernel(y_ptr, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    at = tl.arange(0, COLUMNS)[:, None] * ROWS + tl.arange(0, ROWS)[None, :]
    tl.store(y_ptr + at, tl.trans(tl.full([ROWS, COLUMNS], 5, tl.int8) & 63))


def launch(y):
    _transpose_kernel[(1,)](y, ROWS=ROWS, COLUMNS=COLUMNS)
    return {"y": y}


def reference(y):
    return {"y": torch.full((COLUMNS, ROWS), 5.0, device=y.device)}


def inputs(case, device, generator):
    return {"y": torch.zeros(COLUMNS, ROWS, dtype=torch.int8, device=device)}


KERNEL = kernel_of(
    globals(),
    cases=(Case("tile", "int8", {"M": ROWS, "N": COLUMNS}, targets=("sm_80", "sm_90")),),
    # an integer
    tolerance={"int8": 0.0},
)
