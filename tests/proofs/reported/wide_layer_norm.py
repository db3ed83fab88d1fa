"""Layer norm of rows of thousands of elements: forward with a row in one block, backward with many rows a program."""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, Kernel

EPS = 1e-5


@triton.jit
def _forward_kernel(x_ptr, w_ptr, b_ptr, y_ptr, N, EPS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    there = columns < N
    x = tl.load(x_ptr + row * N + columns, mask=there, other=0.0).to(tl.float32)
    mean = tl.sum(x, 0) / N
    off = tl.where(there, x - mean, 0.0)
    factor = 1 / tl.sqrt(tl.sum(off * off, 0) / N + EPS)
    w = tl.load(w_ptr + columns, mask=there).to(tl.float32)
    b = tl.load(b_ptr + columns, mask=there).to(tl.float32)
    tl.store(y_ptr + row * N + columns, off * factor * w + b, mask=there)


@triton.jit
def _backward_kernel(
    x_ptr,
    w_ptr,
    mean_ptr,
    factor_ptr,
    dx_ptr,
    dw_ptr,
    db_ptr,
    dy_ptr,
    M,
    N,
    ROWS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    program = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    there = columns < N
    dw = tl.zeros((BLOCK,), dtype=tl.float32)
    db = tl.zeros((BLOCK,), dtype=tl.float32)
    w = tl.load(w_ptr + columns, mask=there, other=0.0).to(tl.float32)
    for row in range(program * ROWS, min((program + 1) * ROWS, M)):
        x = tl.load(x_ptr + row * N + columns, mask=there, other=0.0).to(tl.float32)
        dy = tl.load(dy_ptr + row * N + columns, mask=there, other=0.0).to(tl.float32)
        factor = tl.load(factor_ptr + row)
        normal = (x - tl.load(mean_ptr + row)) * factor
        weighted = w * dy
        along = tl.sum(normal * weighted, 0) / N
        level = tl.sum(weighted, 0) / N
        dx = (weighted - (normal * along + level)) * factor
        tl.store(dx_ptr + row * N + columns, dx, mask=there)
        dw += dy * normal
        db += dy
    tl.store(dw_ptr + program * N + columns, dw, mask=there)
    tl.store(db_ptr + program * N + columns, db, mask=there)


def launch(x, w, b, dy, backward, warps, rows=32):
    m, n = x.shape
    block = triton.next_power_of_2(n)
    if not backward:
        y = torch.empty_like(x)
        _forward_kernel[(m,)](x, w, b, y, n, EPS=EPS, BLOCK=block, num_warps=warps, num_stages=2)
        return {"y": y}
    wide = x.float()
    mean, factor = wide.mean(1), (wide.var(1, correction=0) + EPS).rsqrt()
    programs = triton.cdiv(m, rows)
    dx = torch.empty_like(x)
    dw, db = (torch.empty(programs, n, device=x.device) for _ in range(2))
    _backward_kernel[(programs,)](
        x, w, mean, factor, dx, dw, db, dy, m, n, ROWS=rows, BLOCK=block, num_warps=warps
    )
    return {"dx": dx, "dw": dw.sum(0), "db": db.sum(0)}


def reference(x, w, b, dy, backward):
    x, w, b = (one.double().requires_grad_() for one in (x, w, b))
    y = torch.nn.functional.layer_norm(x, x.shape[1:], w, b, EPS)
    if not backward:
        return {"y": y.detach()}
    dx, dw, db = torch.autograd.grad(y, (x, w, b), dy.double())
    return {"dx": dx, "dw": dw, "db": db}


def inputs(case, device, generator):
    m, n = case.shape["M"], case.shape["N"]
    shapes = {"x": (m, n), "w": (n,), "b": (n,), "dy": (m, n)}
    drawn = {name: torch.randn(shape, generator=generator) for name, shape in shapes.items()}
    tensors = {name: one.to(device, case.torch_dtype) for name, one in drawn.items()}
    return {**tensors, "backward": case.shape["backward"]}


def _case(name, dtype, width, backward, warps, target):
    small = {"M": 40 if backward else 2, "N": width, "backward": backward}
    options = {"warps": warps}
    return Case(name, dtype, small, real={"M": 4096}, targets=(target,), options=options)


KERNEL = Kernel(
    name="wide_layer_norm",
    cases=(
        _case("fp16-15360", "fp16", 15360, 0, 16, "sm_100"),
        _case("bf16-15360", "bf16", 15360, 0, 16, "sm_100"),
        _case("bf16-7680-backward", "bf16", 7680, 1, 16, "sm_90"),
        _case("fp32-7680-backward", "fp32", 7680, 1, 16, "sm_90"),
        _case("bf16-7680-backward-8warps", "bf16", 7680, 1, 8, "sm_90"),
    ),
    inputs=inputs,
    launch=launch,
    reference=reference,
    tolerance={"fp16": 2e-3, "bf16": 8e-3, "fp32": 1e-5},
)
