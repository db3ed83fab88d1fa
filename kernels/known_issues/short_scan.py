"""A scan of fewer elements than a warp has lanes: adding a dimension to it reads lanes that hold copies."""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, kernel_of

ROWS = 32


@triton.jit
def _sum_and_largest(sum_a, largest_a, sum_b, largest_b):
    return sum_a + sum_b, tl.maximum(largest_a, largest_b)


@triton.jit
def _scan_kernel(x_ptr, sums_ptr, largest_ptr, ROWS: tl.constexpr, SIZE: tl.constexpr):
    column = tl.arange(0, SIZE)
    x = tl.load(x_ptr + column)
    sums, largest = tl.associative_scan((x, x), 0, _sum_and_largest)
    at = tl.arange(0, ROWS)[:, None] * SIZE + column[None, :]
    tl.store(sums_ptr + at, tl.broadcast_to(sums[None, :], [ROWS, SIZE]))
    tl.store(largest_ptr + at, tl.broadcast_to(largest[None, :], [ROWS, SIZE]))


def launch(x):
    sums, largest = (torch.empty(ROWS, len(x), dtype=x.dtype, device=x.device) for _ in range(2))
    _scan_kernel[(1,)](x, sums, largest, ROWS=ROWS, SIZE=len(x))
    return {"sums": sums, "largest": largest}


def reference(x):
    sums, largest = x.double().cumsum(0), x.double().cummax(0).values
    return {"sums": sums.expand(ROWS, len(x)), "largest": largest.expand(ROWS, len(x))}


def inputs(case, device, generator):
    # rising, so that each element of both results is another
    steps = torch.randint(1, 8, (case.shape["N"],), generator=generator, device=generator.device)
    return {"x": steps.cumsum(0).to(device, case.torch_dtype)}


KERNEL = kernel_of(
    globals(),
    cases=(
        Case("row-16", "fp32", {"N": 16}, targets=("sm_80", "sm_90")),
        Case("row-4", "fp32", {"N": 4}, targets=("sm_80", "sm_90")),
        Case("row-32", "fp32", {"N": 32}, targets=("sm_80", "sm_90")),
    ),
    # integers, summed up exactly
    tolerance={"fp32": 0.0},
    # 2.3 dies where a single scan gets another dimension (triton-4078), and has none of a tuple
    uses=("scan-of-tuple",),
)
