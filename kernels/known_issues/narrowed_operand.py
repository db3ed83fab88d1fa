"""Operands that the loop multiplying them converts from float16 to float8."""

from typing import Any, Dict

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, kernel_of

ROWS, INNER, TRIPS = 16, 64, 3


@triton.jit
def _narrowed_kernel(a_ptr, b_ptr, out_ptr, trips, ROWS: tl.constexpr, INNER: tl.constexpr):
    rows, inner = tl.arange(0, ROWS), tl.arange(0, INNER)
    out = tl.zeros([ROWS, ROWS], tl.float32)
    for i in range(trips):
        a = tl.load(a_ptr + i * ROWS * INNER + rows[:, None] * INNER + inner[None, :])
        b = tl.load(b_ptr + i * ROWS * INNER + inner[:, None] * ROWS + rows[None, :])
        out += tl.dot(a.to(tl.float8e5), b.to(tl.float8e5))
    tl.store(out_ptr + rows[:, None] * ROWS + rows[None, :], out)


def launch(a, b, num_stages=3):
    out = torch.empty((ROWS, ROWS), device=a.device)
    _narrowed_kernel[(1,)](a, b, out, TRIPS, ROWS=ROWS, INNER=INNER, num_stages=num_stages)
    return {"out": out}


def reference(a, b):
    return {"out": (a.double() @ b.double()).sum(0)}


def inputs(case, device, generator):
    def drawn(*shape):
        made = torch.randint(-2, 3, shape, generator=generator, device=generator.device)
        return made.to(device, case.torch_dtype)

    return {"a": drawn(TRIPS, ROWS, INNER), "b": drawn(TRIPS, INNER, ROWS)}


NVIDIA: Dict[str, Any] = {"lanes": ("compile", "emulate", "device"), "targets": ("sm_80", "sm_90")}

KERNEL = kernel_of(
    globals(),
    cases=(
        Case("3-stages", "fp16", {}, options={"num_stages": 3}, **NVIDIA),
        Case("1-stage", "fp16", {}, options={"num_stages": 1}, **NVIDIA),
    ),
    uses=("dot",),
    # integers that float8 with five bits of exponent holds
    tolerance={"fp16": 0.0},
)
