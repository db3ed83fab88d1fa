"""Running sums of one column, written beside each other: silently wrong for a few rows on Triton 3.3 to 3.6.

The scan takes on the layout of the tile that is stored, where a column of few rows has copies in many threads.
"""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, kernel_of


@triton.jit
def _spread_sums_kernel(x_ptr, y_ptr, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    rows = tl.arange(0, ROWS)[:, None]
    columns = tl.arange(0, COLUMNS)[None, :]
    sums = tl.cumsum(tl.load(x_ptr + rows), 0)
    tl.store(y_ptr + rows * COLUMNS + columns, tl.broadcast_to(sums, [ROWS, COLUMNS]))


def launch(x, columns, warps):
    y = torch.empty(x.numel(), columns, device=x.device, dtype=x.dtype)
    _spread_sums_kernel[(1,)](x, y, ROWS=x.numel(), COLUMNS=columns, num_warps=warps)
    return {"y": y}


def reference(x, columns, warps):
    return {"y": x.double().cumsum(0)[:, None].expand(-1, columns)}


def inputs(case, device, generator):
    x = torch.randint(-50, 50, (case.shape["M"],), generator=generator, device=generator.device)
    shape = case.shape
    return {"x": x.to(device, case.torch_dtype), "columns": shape["N"], "warps": shape["warps"]}


KERNEL = kernel_of(
    globals(),
    cases=(
        Case("4-rows", "fp32", {"M": 4, "N": 4, "warps": 4}, targets=("sm_80", "sm_90")),
        Case("8-rows", "fp32", {"M": 8, "N": 8, "warps": 4}, targets=("sm_80", "sm_90")),
        Case("32-rows", "fp32", {"M": 32, "N": 32, "warps": 4}, targets=("sm_80", "sm_90")),
    ),
    # sums of integers, which are exact
    tolerance={"fp32": 0.0},
)
