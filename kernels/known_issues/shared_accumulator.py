"""Two matrix products that a loop adds to one accumulator, one after the other.

Triton's pipeliner for the tensor cores of sm_100 separates the second product from the first, and the sum of the first
is lost: silently wrong numbers. Two accumulators, or one product in the loop, are right.
"""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, kernel_of


@triton.jit
def _two_products_kernel(
    a_ptr,
    b_ptr,
    c_ptr,
    d_ptr,
    y_ptr,
    K,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    APART: tl.constexpr,
):
    row, col, inner = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    total = tl.zeros([BM, BN], dtype=tl.float32)
    other = tl.zeros([BM, BN], dtype=tl.float32)
    for k in range(0, K, BK):
        left = row[:, None] * K + k + inner[None, :]
        right = (k + inner[:, None]) * BN + col[None, :]
        total = tl.dot(tl.load(a_ptr + left), tl.load(b_ptr + right), total)
        if APART:
            other = tl.dot(tl.load(c_ptr + left), tl.load(d_ptr + right), other)
        else:
            total = tl.dot(tl.load(c_ptr + left), tl.load(d_ptr + right), total)
    tl.store(y_ptr + row[:, None] * BN + col[None, :], total + other)


def launch(a, b, c, d, apart):
    y = torch.empty(a.shape[0], b.shape[1], dtype=torch.float32, device=a.device)
    _two_products_kernel[(1,)](
        a, b, c, d, y, a.shape[1], BM=a.shape[0], BN=b.shape[1], BK=32, APART=apart, num_warps=4
    )
    return {"y": y}


def reference(a, b, c, d, apart):
    return {"y": a.double() @ b.double() + c.double() @ d.double()}


def inputs(case, device, generator):
    m, n, k = (case.shape[name] for name in "MNK")
    made = {}
    for name, shape in (("a", (m, k)), ("b", (k, n)), ("c", (m, k)), ("d", (k, n))):
        made[name] = torch.randn(*shape, generator=generator).to(torch.bfloat16).to(device)
    return {**made, "apart": case.id == "apart"}


KERNEL = kernel_of(
    globals(),
    cases=tuple(
        Case(
            way,
            "bf16",
            {"M": 128, "N": 64, "K": 160},
            targets=("sm_90", "sm_100", "sm_103", "sm_110"),
        )
        for way in ("together", "apart")
    ),
    # measured: 1.3e-7
    tolerance={"bf16": 1e-5},
    uses=("dot",),
)
