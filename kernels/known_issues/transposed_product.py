"""A product of a transposed operand and of one that is converted from a narrower type."""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, kernel_of

# the second operand's type in memory, by the first one's type
NARROWER = {torch.float16: torch.int8, torch.float32: torch.float16}


@triton.jit
def _product_kernel(x_ptr, w_ptr, y_ptr, M: tl.constexpr, K: tl.constexpr, N: tl.constexpr):
    rows, inner, columns = tl.arange(0, M), tl.arange(0, K), tl.arange(0, N)
    x = tl.load(x_ptr + inner[:, None] * M + rows[None, :])
    w = tl.load(w_ptr + inner[:, None] * N + columns[None, :])
    y = tl.dot(tl.trans(x), w.to(x.dtype))
    tl.store(y_ptr + rows[:, None] * N + columns[None, :], y)


def launch(x, w):
    (K, M), N = x.shape, w.shape[1]
    y = torch.empty(M, N, device=x.device)
    _product_kernel[(1,)](x, w, y, M=M, K=K, N=N)
    return {"y": y}


def reference(x, w):
    return {"y": x.double().T @ w.double()}


def inputs(case, device, generator):
    def whole(rows, columns, dtype):
        drawn = torch.randint(-4, 5, (rows, columns), generator=generator, device=generator.device)
        return drawn.to(device, dtype)

    x = whole(case.shape["K"], case.shape["M"], case.torch_dtype)
    return {"x": x, "w": whole(case.shape["K"], case.shape["N"], NARROWER[x.dtype])}


KERNEL = kernel_of(
    globals(),
    cases=(
        Case("int8", "fp16", {"M": 64, "K": 32, "N": 32}, targets=("sm_80", "sm_90")),
        Case("half", "fp32", {"M": 64, "K": 32, "N": 32}, targets=("sm_80", "sm_90")),
    ),
    uses=("dot",),
    # small integers, exact as tf32 too
    tolerance={"fp16": 0.0, "fp32": 0.0},
)
