"""A loop that stores a row and reads it back: pipelined, it reads the values from before the store.

The pipeliner assumes that nothing in a loop writes to memory that the loop loads, and moves a load ahead of the store
that comes before it.
"""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, kernel_of

BLOCK = 128


@triton.jit
def _read_back_kernel(x_ptr, y_ptr, size, BLOCK: tl.constexpr, STAGES: tl.constexpr):
    for start in tl.range(0, size, BLOCK, num_stages=STAGES):
        col = start + tl.arange(0, BLOCK)
        tl.store(x_ptr + col, col.to(tl.float32))
        tl.store(y_ptr + col, tl.load(x_ptr + col))


def launch(x, stages):
    y = torch.empty_like(x)
    _read_back_kernel[(1,)](x, y, len(x), BLOCK=BLOCK, STAGES=stages, num_warps=4)
    return {"y": y}


def reference(x, stages):
    return {"y": torch.arange(len(x), device=x.device, dtype=torch.float64)}


def inputs(case, device, generator):
    return {"x": torch.zeros(case.shape["N"], device=device), "stages": case.shape["stages"]}


KERNEL = kernel_of(
    globals(),
    cases=tuple(
        Case(name, "fp32", {"N": 1024, "stages": stages}, targets=("sm_80", "sm_90"))
        for name, stages in (("one-stage", 1), ("two-stages", 2))
    ),
    # integers
    tolerance={"fp32": 0.0},
    uses=("tl-range",),
)
