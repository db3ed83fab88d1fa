"""Two sums with one constant, narrowed by LLVM to packed 16-bit additions: ptxas 12.9 adds 0 in the second, on Hopper.

Triton 3.8 is the one release that has both, that LLVM and that ptxas.
"""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, kernel_of

ROWS, COLUMNS = 32, 8


@triton.jit
def _remainders_kernel(y_ptr, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    row = tl.arange(0, ROWS)[:, None]
    at = row * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    # not by a power of two: LLVM narrows what is known to be small, and packs it
    value = tl.where(row % 2 == 1, (at * 9 + 1) % 1000, at)
    tl.store(y_ptr + at, value, mask=at % 2 == 0)


def launch(at):
    y = torch.zeros_like(at)
    _remainders_kernel[(1,)](y, ROWS=ROWS, COLUMNS=COLUMNS, num_warps=1)
    return {"y": y}


def reference(at):
    value = torch.where(at // COLUMNS % 2 == 1, (at * 9 + 1) % 1000, at)
    return {"y": torch.where(at % 2 == 0, value, 0)}


def inputs(case, device, generator):
    # the kernel knows them by itself
    return {"at": torch.arange(ROWS * COLUMNS, dtype=torch.int32).to(device)}


KERNEL = kernel_of(
    globals(),
    cases=(Case("rows-32", "int8", {"rows": ROWS, "columns": COLUMNS}, targets=("sm_90",)),),
    tolerance={"int8": 0.0},
)
