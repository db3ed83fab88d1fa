"""A loop that is flattened with the one inside it, whose bounds come in the wrong order: no turns, by Python's meaning.

`tl.range(..., flatten=True)` makes one loop of the two, and the inner one's body is run once where it has no turn.
"""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, Kernel

BLOCK = 32


@triton.jit
def _flattened_kernel(y_ptr, outer, low, high, BLOCK: tl.constexpr):
    col = tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for i in tl.range(0, outer, flatten=True):
        total += i + 1
        for j in range(low, high):
            total += 100 * (j + 10)
        tl.store(y_ptr + i * BLOCK + col, total)


def launch(outer, low, high, device):
    y = torch.empty(outer, BLOCK, dtype=torch.float32, device=device)
    _flattened_kernel[(1,)](y, outer, low, high, BLOCK=BLOCK, num_warps=1)
    return {"y": y}


def reference(outer, low, high, device):
    inner = sum(100.0 * (j + 10) for j in range(low, high))
    steps = torch.arange(1, outer + 1, dtype=torch.float64, device=device).cumsum(0)
    steps += inner * torch.arange(1, outer + 1, device=device)
    return {"y": steps[:, None].expand(outer, BLOCK)}


def inputs(case, device, generator):
    low, high = case.shape["low"], case.shape["high"]
    return {"outer": case.shape["outer"], "low": low, "high": high, "device": device}


KERNEL = Kernel(
    name="flattened_loops",
    cases=tuple(
        Case(
            name,
            "fp32",
            {"outer": 5, "low": low, "high": high},
            targets=("sm_80", "sm_90", "gfx942"),
        )
        for name, low, high in (("turns", 2, 5), ("empty", 2, 2), ("inverted", 5, 2))
    ),
    inputs=inputs,
    launch=launch,
    reference=reference,
    uses=("tl-range", "tl-range-flatten"),
    # sums of whole numbers
    tolerance={"fp32": 0.0},
)
