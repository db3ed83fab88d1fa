"""A loop of two products with an elementwise operand loaded between them, in four stages, for CDNA 3.

The AMD pipeliners of Triton 3.5 and 3.6 destroy an operation that is still used, and end with an error of LLVM's.
"""

from typing import Any, Dict

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, kernel_of

SIZE = 32


@triton.jit
def _state_kernel(w_ptr, u_ptr, k_ptr, out_ptr, STEPS, N: tl.constexpr):
    rows = tl.arange(0, N)
    at = rows[:, None] * N + rows[None, :]
    state = tl.zeros([N, N], dtype=tl.float32)
    for step in range(0, STEPS):
        w = tl.load(w_ptr + step * N * N + at)
        removed = tl.dot(w, state.to(w.dtype))
        u = tl.load(u_ptr + step * N * N + at)
        k = tl.load(k_ptr + step * N * N + at)
        state += tl.dot(k, (u - removed).to(k.dtype))
    tl.store(out_ptr + at, state)


def launch(w, u, k, num_stages=4):
    out = torch.empty((SIZE, SIZE), dtype=torch.float32, device=w.device)
    _state_kernel[(1,)](w, u, k, out, w.shape[0], N=SIZE, num_warps=4, num_stages=num_stages)
    return {"out": out}


def reference(w, u, k):
    state = torch.zeros(SIZE, SIZE, dtype=torch.float64, device=w.device)
    for w_step, u_step, k_step in zip(w.double(), u.double(), k.double()):
        state = state + k_step @ (u_step - w_step @ state)
    return {"out": state}


def inputs(case, device, generator):
    steps = case.shape["STEPS"]
    made = torch.randn(3, steps, SIZE, SIZE, generator=generator, device=generator.device) / SIZE
    w, u, k = made.to(device, case.torch_dtype)
    return {"w": w, "u": u.float(), "k": k}


CDNA: Dict[str, Any] = {"lanes": ("compile", "emulate", "device"), "targets": ("gfx942",)}

KERNEL = kernel_of(
    globals(),
    cases=(
        Case("bf16-32-2stages", "bf16", {"STEPS": 6}, options={"num_stages": 2}, **CDNA),
        Case("bf16-32-4stages", "bf16", {"STEPS": 6}, options={"num_stages": 4}, **CDNA),
    ),
    # the rounding of the state to bf16
    tolerance={"bf16": 1e-2},
    uses=("dot",),
)
