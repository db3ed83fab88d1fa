"""A product in 16 bits whose first operand another product made, and whose second is converted from eight."""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, Kernel
from crosswarp.kernels.known_issues.chained_int8 import inputs, reference


@triton.jit
def _chained_kernel(a_ptr, b_ptr, v_ptr, y_ptr, M: tl.constexpr, K: tl.constexpr, N: tl.constexpr):
    rows, inner, columns = tl.arange(0, M), tl.arange(0, K), tl.arange(0, N)
    a = tl.load(a_ptr + rows[:, None] * K + inner[None, :])
    b = tl.load(b_ptr + inner[:, None] * K + inner[None, :])
    v = tl.load(v_ptr + inner[:, None] * N + columns[None, :])
    y = tl.dot(tl.dot(a, b).to(a.dtype), v.to(a.dtype))
    tl.store(y_ptr + rows[:, None] * N + columns[None, :], y)


def launch(a, b, v, num_warps):
    (M, K), N = a.shape, v.shape[1]
    y = torch.empty(M, N, device=a.device)
    _chained_kernel[(1,)](a, b, v, y, M=M, K=K, N=N, num_warps=num_warps)
    return {"y": y}


KERNEL = Kernel(
    name="chained_converted",
    cases=(
        Case("few-rows", "fp16", {"M": 16, "K": 32, "N": 16}, targets=("sm_80", "sm_90"), options={"num_warps": 1}),
        Case("tile", "fp16", {"M": 64, "K": 64, "N": 64}, targets=("sm_80", "sm_90"), options={"num_warps": 4}),
        Case("bfloat16", "bf16", {"M": 64, "K": 64, "N": 64}, targets=("sm_80", "sm_90"), options={"num_warps": 4}),
    ),
    inputs=inputs,
    launch=launch,
    reference=reference,
    uses=("dot",),
    # small whole numbers, exact in either type
    tolerance={"fp16": 0.0, "bf16": 0.0},
)  # fmt: skip
