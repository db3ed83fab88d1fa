"""A product whose first operand another product made: in 16 bits beside one converted from eight, and in float8."""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, Kernel
from crosswarp.kernels.known_issues.chained_int8 import inputs as inputs_of_int8
from crosswarp.kernels.known_issues.chained_int8 import reference as product_of_three


@triton.jit
def _chained_kernel(
    a_ptr, b_ptr, v_ptr, y_ptr, M: tl.constexpr, K: tl.constexpr, N: tl.constexpr, EIGHT: tl.constexpr
):  # fmt: skip
    rows, inner, columns = tl.arange(0, M), tl.arange(0, K), tl.arange(0, N)
    a = tl.load(a_ptr + rows[:, None] * K + inner[None, :])
    b = tl.load(b_ptr + inner[:, None] * K + inner[None, :])
    v = tl.load(v_ptr + inner[:, None] * N + columns[None, :])
    first, second = tl.dot(a, b).to(a.dtype), v.to(a.dtype)
    if EIGHT:
        first, second = first.to(tl.float8e5), second.to(tl.float8e5)
    y = tl.dot(first, second)
    tl.store(y_ptr + rows[:, None] * N + columns[None, :], y)


def launch(a, b, v, num_warps, eight):
    (M, K), N = a.shape, v.shape[1]
    y = torch.empty(M, N, device=a.device)
    _chained_kernel[(1,)](a, b, v, y, M=M, K=K, N=N, EIGHT=eight, num_warps=num_warps)
    return {"y": y}


def reference(a, b, v, eight):
    return product_of_three(a, b, v)


def inputs(case, device, generator):
    made = inputs_of_int8(case, device, generator)
    eight = case.id.startswith("float8")
    if eight:
        # so that the first product fits into float8
        made["b"] = torch.eye(case.shape["K"], device=device, dtype=case.torch_dtype)
    return {**made, "eight": eight}


KERNEL = Kernel(
    name="chained_converted",
    cases=(
        Case("few-rows", "fp16", {"M": 16, "K": 32, "N": 16}, targets=("sm_80", "sm_90"), options={"num_warps": 1}),
        Case("tile", "fp16", {"M": 64, "K": 64, "N": 64}, targets=("sm_80", "sm_90"), options={"num_warps": 4}),
        Case("float8", "fp16", {"M": 32, "K": 32, "N": 16}, targets=("sm_80", "sm_90"), options={"num_warps": 4}),
        Case("float8-tile", "fp16", {"M": 64, "K": 64, "N": 64}, targets=("sm_80", "sm_90"), options={"num_warps": 4}),
        Case("bfloat16", "bf16", {"M": 64, "K": 64, "N": 64}, targets=("sm_80", "sm_90"), options={"num_warps": 4}),
    ),
    inputs=inputs,
    launch=launch,
    reference=reference,
    uses=("dot",),
    # small whole numbers, exact in either type
    tolerance={"fp16": 0.0, "bf16": 0.0},
)  # fmt: skip
