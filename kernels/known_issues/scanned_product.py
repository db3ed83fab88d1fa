"""A cumulative sum of one column that scales the rows of a matrix product, and takes on the product's layout."""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, kernel_of

DEPTH = 16


@triton.jit
def _scan_kernel(g_ptr, a_ptr, b_ptr, y_ptr, SIZE: tl.constexpr, DEPTH: tl.constexpr):
    row, depth = tl.arange(0, SIZE), tl.arange(0, DEPTH)
    a = tl.load(a_ptr + row[:, None] * DEPTH + depth[None, :])
    b = tl.load(b_ptr + depth[:, None] * SIZE + row[None, :])
    scale = tl.cumsum(tl.load(g_ptr + row[:, None]), 0)
    tl.store(y_ptr + row[:, None] * SIZE + row[None, :], scale * tl.dot(a, b))


def launch(g, a, b, warps):
    y = torch.empty(len(g), len(g), dtype=torch.float32, device=g.device)
    _scan_kernel[(1,)](g, a, b, y, SIZE=len(g), DEPTH=DEPTH, num_warps=warps)
    return {"y": y}


def reference(g, a, b, warps):
    return {"y": g.double().cumsum(0)[:, None] * (a.double() @ b.double())}


def inputs(case, device, generator):
    def normal(*size):
        made = torch.randn(*size, generator=generator, device=generator.device)
        return made.to(device)

    size = case.shape["N"]
    return {
        "g": normal(size),
        "a": normal(size, DEPTH).half(),
        "b": normal(DEPTH, size).half(),
        "warps": case.shape["warps"],
    }


KERNEL = kernel_of(
    globals(),
    cases=(
        Case("16-4warps", "fp16", {"N": 16, "warps": 4}, targets=("sm_80", "sm_90")),
        Case("32-4warps", "fp16", {"N": 32, "warps": 4}, targets=("sm_80", "sm_90")),
        Case("64-8warps", "fp16", {"N": 64, "warps": 8}, targets=("sm_80", "sm_90")),
    ),
    tolerance={"fp16": 2e-6},
    uses=("dot",),
)
