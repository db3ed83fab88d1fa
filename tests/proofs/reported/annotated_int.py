"""A linear layer whose strides are arguments annotated as int: on some releases the one that is 1 is no constant."""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, Kernel


@triton.jit
def _linear_kernel(
    x_ptr, w_ptr, y_ptr, K, x_row: int, x_column: int, w_row: int, w_column: int, y_row: int, y_column: int,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns, depth = tl.program_id(1) * BN + tl.arange(0, BN), tl.arange(0, BK)
    x_at = x_ptr + rows[:, None] * x_row + depth[None, :] * x_column
    w_at = w_ptr + depth[:, None] * w_column + columns[None, :] * w_row
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for _ in range(0, K, BK):
        total += tl.dot(tl.load(x_at), tl.load(w_at))
        x_at += BK * x_column
        w_at += BK * w_column
    at = y_ptr + rows[:, None] * y_row + columns[None, :] * y_column
    tl.store(at, total.to(y_ptr.dtype.element_ty))


def launch(x, w, warps):
    y = torch.empty(x.shape[0], w.shape[0], dtype=x.dtype, device=x.device)
    grid = (x.shape[0] // 64, w.shape[0] // 64)
    _linear_kernel[grid](
        x,
        w,
        y,
        x.shape[1],
        *x.stride(),
        *w.stride(),
        *y.stride(),
        BM=64,
        BN=64,
        BK=32,
        num_warps=warps,
    )
    return {"y": y}


def reference(x, w):
    return {"y": x.double() @ w.double().t()}


def inputs(case, device, generator):
    m, n, k = (case.shape[name] for name in "MNK")

    def draw(*shape):
        return torch.randn(*shape, generator=generator).to(device, case.torch_dtype)

    return {"x": draw(m, k), "w": draw(n, k)}


KERNEL = Kernel(
    name="annotated_int",
    cases=tuple(
        Case(
            f"fp16-{warps}warps", "fp16", dict.fromkeys("MNK", 128), real=dict.fromkeys("MNK", 1024),
            targets=("sm_80", "sm_90"), options={"warps": warps},
        )
        for warps in (4, 8)
    ),
    inputs=inputs,
    launch=launch,
    reference=reference,
    tolerance={"fp16": 1e-3},
    uses=("dot",),
)  # fmt: skip
