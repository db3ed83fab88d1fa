"""A product whose first operand is another product, or a sum of them in a loop: beside an 8-bit one, and in float8."""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, kernel_of
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


@triton.jit
def _carried_kernel(
    k_ptr, v_ptr, y_ptr, turns, M: tl.constexpr, N: tl.constexpr, BEHIND: tl.constexpr
):
    """As in linear attention: the state so far by the next iteration's values; BEHIND the loop, by the last ones."""
    rows, columns = tl.arange(0, M), tl.arange(0, N)
    at_k = rows[:, None] * N + columns[None, :]
    at_v = columns[:, None] * N + columns[None, :]
    state = tl.zeros([M, N], tl.float32)
    for turn in range(0, turns):
        k = tl.load(k_ptr + turn * M * N + at_k)
        v = tl.load(v_ptr + turn * N * N + at_v).to(k.dtype)
        if not BEHIND:
            tl.store(y_ptr + turn * M * N + at_k, tl.dot(state.to(k.dtype), v))
        state += tl.dot(k, v)
    if BEHIND:
        last = tl.load(v_ptr + (turns - 1) * N * N + at_v).to(k_ptr.dtype.element_ty)
        tl.store(y_ptr + at_k, tl.dot(state.to(k_ptr.dtype.element_ty), last))


def launch(num_warps, **given):
    return (_launch_carried if "k" in given else _launch_chained)(num_warps=num_warps, **given)


def _launch_carried(k, v, behind, num_warps):
    turns, M, N = k.shape
    y = torch.empty(1 if behind else turns, M, N, device=k.device)
    _carried_kernel[(1,)](k, v, y, turns, M=M, N=N, BEHIND=behind, num_warps=num_warps)
    return {"y": y}


def _launch_chained(a, b, v, num_warps, eight):
    (M, K), N = a.shape, v.shape[1]
    y = torch.empty(M, N, device=a.device)
    _chained_kernel[(1,)](a, b, v, y, M=M, K=K, N=N, EIGHT=eight, num_warps=num_warps)
    return {"y": y}


def reference(**given):
    if "k" not in given:
        return product_of_three(given["a"], given["b"], given["v"])
    k, v = given["k"].double(), given["v"].double()
    sums = (k @ v).cumsum(0)
    if given["behind"]:
        return {"y": sums[-1:] @ v[-1:]}
    return {"y": torch.cat([torch.zeros_like(sums[:1]), sums[:-1]]) @ v}


def inputs(case, device, generator):
    if "TURNS" in case.shape:
        return _inputs_carried(case, device, generator)
    made = inputs_of_int8(case, device, generator)
    eight = case.id.startswith("float8")
    if eight:
        # so that the first product fits into float8
        made["b"] = torch.eye(case.shape["K"], device=device, dtype=case.torch_dtype)
    return {**made, "eight": eight}


def _inputs_carried(case, device, generator):
    turns, M, N = (case.shape[axis] for axis in ("TURNS", "M", "N"))
    k = torch.randint(0, 2, (turns, M, N), generator=generator, device=generator.device)
    v = torch.randint(-2, 3, (turns, N, N), generator=generator, device=generator.device)
    given = {"k": k.to(device, case.torch_dtype), "v": v.to(device, torch.int8)}
    return {**given, "behind": case.id == "behind-loop"}


KERNEL = kernel_of(
    globals(),
    cases=(
        Case("few-rows", "fp16", {"M": 16, "K": 32, "N": 16}, targets=("sm_80", "sm_90"), options={"num_warps": 1}),
        Case("tile", "fp16", {"M": 64, "K": 64, "N": 64}, targets=("sm_80", "sm_90"), options={"num_warps": 4}),
        Case("float8", "fp16", {"M": 32, "K": 32, "N": 16}, targets=("sm_80", "sm_90"), options={"num_warps": 4}),
        Case("float8-tile", "fp16", {"M": 64, "K": 64, "N": 64}, targets=("sm_80", "sm_90"), options={"num_warps": 4}),
        Case("carried", "fp16", {"TURNS": 3, "M": 64, "N": 64}, targets=("sm_80", "sm_90"), options={"num_warps": 4}),
        Case("behind-loop", "fp16", {"TURNS": 2, "M": 64, "N": 32}, targets=("sm_80",), options={"num_warps": 4}),
        Case("bfloat16", "bf16", {"M": 64, "K": 64, "N": 64}, targets=("sm_80", "sm_90"), options={"num_warps": 4}),
    ),
    uses=("dot",),
    # small integers, exact in either type
    tolerance={"fp16": 0.0, "bf16": 0.0},
)  # fmt: skip
