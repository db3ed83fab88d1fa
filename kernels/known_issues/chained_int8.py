"""A product of int8 whose first operand is the result of another product."""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, kernel_of


@triton.jit
def _chained_kernel(a_ptr, b_ptr, v_ptr, y_ptr, M: tl.constexpr, K: tl.constexpr, N: tl.constexpr):
    rows, inner, columns = tl.arange(0, M), tl.arange(0, K), tl.arange(0, N)
    a = tl.load(a_ptr + rows[:, None] * K + inner[None, :])
    b = tl.load(b_ptr + inner[:, None] * K + inner[None, :])
    v = tl.load(v_ptr + inner[:, None] * N + columns[None, :])
    y = tl.dot(tl.dot(a, b).to(tl.int8), v)
    tl.store(y_ptr + rows[:, None] * N + columns[None, :], y)


def launch(a, b, v):
    (M, K), N = a.shape, v.shape[1]
    y = torch.empty(M, N, dtype=torch.int32, device=a.device)
    _chained_kernel[(1,)](a, b, v, y, M=M, K=K, N=N)
    return {"y": y}


def reference(a, b, v):
    return {"y": a.double() @ b.double() @ v.double()}


def inputs(case, device, generator):
    def whole(rows, columns, dtype):
        # so small that the first product fits into int8
        drawn = torch.randint(-1, 2, (rows, columns), generator=generator, device=generator.device)
        return drawn.to(device, dtype)

    M, K, N = (case.shape[axis] for axis in "MKN")
    first = case.torch_dtype
    return {"a": whole(M, K, first), "b": whole(K, K, first), "v": whole(K, N, torch.int8)}


KERNEL = kernel_of(
    globals(),
    cases=(
        Case("half", "fp16", {"M": 16, "K": 32, "N": 16}, targets=("sm_80", "sm_90")),
        Case("int8", "int8", {"M": 64, "K": 64, "N": 64}, targets=("sm_80", "sm_90")),
    ),
    uses=("dot",),
    # integers, exact
    tolerance={"fp16": 0.0, "int8": 0.0},
)
