"""A sum of rows that a loop adds up, and that is used twice afterwards, read inside the loop, or added up otherwise.

Triton keeps such sums separate in each thread, and puts them together after the loop. Used twice, this aborts the
compiler; read inside the loop, the value is only a part of the sum. The same is done to rows that are subtracted, added
in some iterations only, or added to a part of the earlier sum: silently wrong numbers, and for the last an abort.
"""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, kernel_of

ROWS, BLOCK = 8, 64


@triton.jit
def _sum_kernel(
    x_ptr, y_ptr, steps_ptr, L, ROWS: tl.constexpr, BLOCK: tl.constexpr, WAY: tl.constexpr
):
    row = tl.arange(0, ROWS)
    col = tl.arange(0, BLOCK)
    total = tl.zeros([ROWS], dtype=tl.float32)
    for start in range(0, L, BLOCK):
        if WAY == "read":
            tl.store(steps_ptr + start // BLOCK * ROWS + row, total)
        part = tl.sum(tl.load(x_ptr + row[:, None] * L + start + col[None, :]), axis=1)
        if WAY == "minus":
            total -= part
        elif WAY == "branch":
            if start % (2 * BLOCK) == 0:
                total += part
        elif WAY == "decay":
            total = total * 0.5 + part
        else:
            total += part
    if WAY == "twice-if":
        if L > BLOCK:
            tl.store(steps_ptr + row, total)
    tl.store(y_ptr + row, total)
    if WAY == "twice":
        tl.store(steps_ptr + row, total)


def launch(x, way):
    length = x.shape[1]
    y = torch.empty(ROWS, dtype=torch.float32, device=x.device)
    made = {"y": y}
    if way in ("twice", "twice-if", "read"):
        made["steps"] = torch.empty(length // BLOCK if way == "read" else 1, ROWS, device=x.device)
    steps = made.get("steps", y)
    _sum_kernel[(1,)](x, y, steps, length, ROWS=ROWS, BLOCK=BLOCK, WAY=way, num_warps=4)
    return made


def reference(x, way):
    parts = x.double().view(ROWS, -1, BLOCK).sum(2).t()
    if way == "branch":
        return {"y": parts[::2].sum(0)}
    if way == "decay":
        weights = 0.5 ** torch.arange(len(parts) - 1, -1, -1, device=x.device)
        return {"y": (parts * weights[:, None]).sum(0)}
    y = -parts.sum(0) if way == "minus" else parts.sum(0)
    if way == "minus":
        return {"y": y}
    # before each step
    steps = y[None] if way.startswith("twice") else parts.cumsum(0) - parts
    return {"y": y, "steps": steps}


def inputs(case, device, generator):
    x = torch.randn(ROWS, case.shape["L"], generator=generator, device=generator.device)
    return {"x": x.to(device), "way": case.id}


KERNEL = kernel_of(
    globals(),
    cases=(
        Case("twice", "fp32", {"L": 512}, targets=("sm_90", "gfx942")),
        # another block asks for another layout, behind which the assertion is there since 3.3, too
        Case("twice-if", "fp32", {"L": 512}, targets=("sm_80", "sm_90", "gfx942")),
        *(
            Case(way, "fp32", {"L": 512}, targets=("sm_80", "sm_90", "gfx942"))
            for way in ("read", "minus", "branch", "decay")
        ),
    ),
    # measured: 9.4e-8
    tolerance={"fp32": 2e-6},
)
