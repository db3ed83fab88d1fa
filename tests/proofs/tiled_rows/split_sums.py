"""Sums over rows, split among programs where the batch is small, as torch.compile splits them.

After pytorch#181089. A second kernel adds the parts in one tile; without a split one program adds them in a loop.

crosswarp run --suite tests/proofs/tiled_rows --kernels split_sums --here PYTHON --targets sm_90 --batch
"""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, kernel_of

FEW = 8
PART, COLUMNS = 8, 128


@triton.jit
def _parts_kernel(x_ptr, parts_ptr, PART: tl.constexpr, COLUMNS: tl.constexpr):
    columns = tl.arange(0, COLUMNS)
    rows = tl.program_id(0) * PART + tl.arange(0, PART)
    x = tl.load(x_ptr + rows[:, None] * COLUMNS + columns[None, :])
    tl.store(parts_ptr + tl.program_id(0) * COLUMNS + columns, tl.sum(x, 0))


@triton.jit
def _added_kernel(parts_ptr, y_ptr, PARTS: tl.constexpr, COLUMNS: tl.constexpr):
    columns = tl.arange(0, COLUMNS)
    parts = tl.program_id(0) * PARTS + tl.arange(0, PARTS)
    x = tl.load(parts_ptr + parts[:, None] * COLUMNS + columns[None, :])
    tl.store(y_ptr + tl.program_id(0) * COLUMNS + columns, tl.sum(x, 0))


@triton.jit
def _whole_kernel(x_ptr, y_ptr, R, PART: tl.constexpr, COLUMNS: tl.constexpr):
    columns = tl.arange(0, COLUMNS)
    total = tl.zeros([COLUMNS], tl.float32)
    for start in range(0, R, PART):
        rows = tl.program_id(0) * R + start + tl.arange(0, PART)
        total += tl.sum(tl.load(x_ptr + rows[:, None] * COLUMNS + columns[None, :]), 0)
    tl.store(y_ptr + tl.program_id(0) * COLUMNS + columns, total)


def launch(x):
    B, R, _ = x.shape
    y = torch.empty(B, COLUMNS, device=x.device)
    if B < FEW:
        count = R // PART
        parts = torch.empty(B * count, COLUMNS, device=x.device)
        _parts_kernel[(B * count,)](x, parts, PART, COLUMNS, num_warps=1)
        _added_kernel[(B,)](parts, y, count, COLUMNS, num_warps=1)
    else:
        _whole_kernel[(B,)](x, y, R, PART, COLUMNS, num_warps=1)
    return {"y": y}


def reference(x):
    return {"y": x.double().sum(1)}


def inputs(case, device, generator):
    x = torch.randn(case.shape["B"], case.shape["R"], COLUMNS, generator=generator)
    return {"x": x.to(device)}


KERNEL = kernel_of(
    globals(),
    cases=tuple(
        Case(f"{parts}-parts", "fp32", {"B": 8, "R": PART * parts}, lanes=("emulate",))
        for parts in (2, 4, 8)
    ),
    tolerance={"fp32": 1e-4},
    batch="B",
)
