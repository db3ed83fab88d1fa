"""A product's operand whose elements another product, transposed, chooses: the gradient of a ReLU in one kernel."""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, kernel_of


@triton.jit
def _gradient_kernel(w_ptr, x_ptr, dy_ptr, v_ptr, out_ptr, ROWS: tl.constexpr, SIZE: tl.constexpr):
    rows, columns = tl.arange(0, ROWS), tl.arange(0, SIZE)
    w = tl.load(w_ptr + columns[:, None] * SIZE + columns[None, :])
    x = tl.load(x_ptr + columns[:, None] * ROWS + rows[None, :])
    hidden = tl.trans(tl.dot(w, x))
    # loaded behind the product; ahead of it the layouts are others
    dy = tl.load(dy_ptr + rows[:, None] * SIZE + columns[None, :])
    v = tl.load(v_ptr + rows[:, None] * SIZE + columns[None, :])
    grad = tl.where(hidden > 0, dy, 0.0).to(v.dtype)
    tl.store(out_ptr + rows[:, None] * ROWS + rows[None, :], tl.dot(grad, tl.trans(v)))


def launch(w, x, dy, v):
    size, rows = x.shape
    out = torch.empty(rows, rows, device=x.device)
    _gradient_kernel[(1,)](w, x, dy, v, out, ROWS=rows, SIZE=size, num_warps=4)
    return {"out": out}


def reference(w, x, dy, v):
    hidden = (w.double() @ x.double()).T
    return {"out": torch.where(hidden > 0, dy.double(), 0.0) @ v.double().T}


def inputs(case, device, generator):
    def whole(rows, columns, dtype):
        drawn = torch.randint(-2, 3, (rows, columns), generator=generator, device=generator.device)
        return drawn.to(device, dtype)

    M, K = case.shape["M"], case.shape["K"]
    own = case.torch_dtype
    return {
        "w": whole(K, K, own),
        "x": whole(K, M, own),
        "dy": whole(M, K, torch.float32),
        "v": whole(M, K, torch.float16),
    }


KERNEL = kernel_of(
    globals(),
    cases=(
        Case("few-rows", "fp16", {"M": 16, "K": 64}, targets=("sm_80", "sm_90")),
        Case("tile", "fp16", {"M": 64, "K": 64}, targets=("sm_80", "sm_90")),
        Case("of-float32", "fp32", {"M": 16, "K": 64}, targets=("sm_80", "sm_90")),
    ),
    uses=("dot",),
    # small integers, exact in each type
    tolerance={"fp16": 0.0, "fp32": 0.0},
)  # fmt: skip
