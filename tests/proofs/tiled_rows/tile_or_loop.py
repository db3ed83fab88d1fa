"""Sums of rows, in one tile for few rows and in a loop over parts of a row for many.

After pytorch#197311: torch.compile chooses so by the batch. One tile adds what a thread holds of a row in the order of
its lowering; a loop adds it from left to right.

crosswarp run --suite tests/proofs/tiled_rows --kernels tile_or_loop --here PYTHON --targets sm_90 --batch
"""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, kernel_of

FEW = 8
# So many sums a row: equal bits of all of them are no chance.
GROUPS = 8


@triton.jit
def _tile_kernel(x_ptr, y_ptr, N, ROWS: tl.constexpr, SIZE: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns = tl.arange(0, SIZE)[None, :]
    x = tl.load(x_ptr + rows[:, None] * N + columns, mask=columns < N, other=0.0)
    tl.store(y_ptr + rows, tl.sum(x, 1))


@triton.jit
def _loop_kernel(x_ptr, y_ptr, N, ROWS: tl.constexpr, SIZE: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    total = tl.zeros([ROWS, SIZE], tl.float32)
    for start in range(0, N, SIZE):
        columns = start + tl.arange(0, SIZE)[None, :]
        total += tl.load(x_ptr + rows[:, None] * N + columns, mask=columns < N, other=0.0)
    tl.store(y_ptr + rows, tl.sum(total, 1))


def launch(x, rows, part):
    M, groups, N = x.shape
    y = torch.empty(M, groups, device=x.device)
    kernel, size = (_tile_kernel, triton.next_power_of_2(N)) if M < FEW else (_loop_kernel, part)
    kernel[(M * groups // rows,)](x, y, N, ROWS=rows, SIZE=size, num_warps=4)
    return {"y": y}


def reference(x):
    return {"y": x.double().sum(2)}


def inputs(case, device, generator):
    x = torch.randn(case.shape["M"], GROUPS, case.shape["N"], generator=generator)
    return {"x": x.to(device)}


KERNEL = kernel_of(
    globals(),
    cases=tuple(
        Case(
            f"{rows}x{columns}",
            "fp32",
            {"M": 8, "N": columns},
            lanes=("emulate",),
            options={"rows": rows, "part": 128},
        )
        for rows in (1, 8)
        for columns in (500, 1000)
    ),
    tolerance={"fp32": 1e-4},
    batch="M",
)
