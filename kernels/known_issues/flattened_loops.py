"""A flattened loop whose inner loop has its bounds in the wrong order: no iterations, as in Python.

`tl.range(..., flatten=True)` makes one loop of the two, and runs the inner one's body once where it has no iteration.
"""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, kernel_of

BLOCK = 32


@triton.jit
def _flattened_kernel(x_ptr, y_ptr, outer, low, high, BLOCK: tl.constexpr):
    col = tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for i in tl.range(0, outer, flatten=True):
        total += tl.load(x_ptr + i)
        for j in range(low, high):
            total += 100 * (j + 10)
        tl.store(y_ptr + i * BLOCK + col, total)


def launch(x, low, high):
    y = torch.empty(len(x), BLOCK, dtype=torch.float32, device=x.device)
    _flattened_kernel[(1,)](x, y, len(x), low, high, BLOCK=BLOCK, num_warps=1)
    return {"y": y}


def reference(x, low, high):
    inner = sum(100.0 * (j + 10) for j in range(low, high))
    steps = (x.double() + inner).cumsum(0)
    return {"y": steps[:, None].expand(len(x), BLOCK)}


def inputs(case, device, generator):
    x = torch.arange(1.0, case.shape["outer"] + 1, device=device)
    return {"x": x, "low": case.shape["low"], "high": case.shape["high"]}


KERNEL = kernel_of(
    globals(),
    cases=tuple(
        Case(
            name,
            "fp32",
            {"outer": 5, "low": low, "high": high},
            targets=("sm_80", "sm_90", "gfx942"),
        )
        for name, low, high in (("turns", 2, 5), ("empty", 2, 2), ("inverted", 5, 2))
    ),
    uses=("tl-range", "tl-range-flatten"),
    # sums of integers
    tolerance={"fp32": 0.0},
)
