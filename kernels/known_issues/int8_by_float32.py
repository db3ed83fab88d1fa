"""A float32 product of an operand that is int8 in memory and of one that is float32 there."""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, kernel_of

M, K, N = 32, 32, 32


@triton.jit
def _product_kernel(
    x_ptr, w_ptr, y_ptr, M: tl.constexpr, K: tl.constexpr, N: tl.constexpr, WAY: tl.constexpr
):
    rows, inner, columns = tl.arange(0, M), tl.arange(0, K), tl.arange(0, N)
    w = tl.load(w_ptr + inner[:, None] * N + columns[None, :])
    if WAY == "turned":
        x = tl.trans(tl.load(x_ptr + inner[:, None] * M + rows[None, :]))
    else:
        x = tl.load(x_ptr + rows[:, None] * K + inner[None, :])
    if WAY == "second":
        y = tl.dot(w, x.to(tl.float32))
    else:
        y = tl.dot(x.to(tl.float32), w)
    tl.store(y_ptr + rows[:, None] * N + columns[None, :], y)


def launch(x, w, way):
    y = torch.empty(M, N, device=x.device)
    _product_kernel[(1,)](x, w, y, M=M, K=K, N=N, WAY=way)
    return {"y": y}


def reference(x, w, way):
    x, w = x.double(), w.double()
    return {"y": w @ x if way == "second" else x.T @ w if way == "turned" else x @ w}


def inputs(case, device, generator):
    def drawn(dtype):
        made = torch.randint(-4, 5, (M, K), generator=generator, device=generator.device)
        return made.to(device, dtype)

    bytes_of = torch.float8_e5m2 if case.id == "float8" else torch.int8
    return {"x": drawn(bytes_of), "w": drawn(torch.float32), "way": case.id}


LANES, TARGETS = ("compile", "emulate", "device"), ("sm_80", "sm_90")

KERNEL = kernel_of(
    globals(),
    cases=tuple(
        Case(way, "fp32", {}, LANES, TARGETS) for way in ("first", "second", "turned", "float8")
    ),
    uses=("dot",),
    # small integers, exact as tf32 too
    tolerance={"fp32": 0.0},
)
