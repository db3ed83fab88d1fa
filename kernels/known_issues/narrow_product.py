"""A product of few columns that is transposed to be an operand of a second one, by more warps than its rows fill."""

from typing import Any, Dict

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, kernel_of

ROWS, INNER, COLUMNS = 64, 32, 16


@triton.jit
def _turned_kernel(
    a_ptr, b_ptr, c_ptr, out_ptr, ROWS: tl.constexpr, INNER: tl.constexpr, COLUMNS: tl.constexpr
):
    rows, inner, columns = tl.arange(0, ROWS), tl.arange(0, INNER), tl.arange(0, COLUMNS)
    a = tl.load(a_ptr + rows[:, None] * INNER + inner[None, :])
    b = tl.load(b_ptr + inner[:, None] * COLUMNS + columns[None, :])
    c = tl.load(c_ptr + rows[:, None] * INNER + inner[None, :])
    turned = tl.trans(tl.dot(a, b).to(tl.float16))
    tl.store(out_ptr + columns[:, None] * INNER + inner[None, :], tl.dot(turned, c))


def launch(a, b, c, num_warps=4):
    out = torch.empty((COLUMNS, INNER), device=a.device)
    _turned_kernel[(1,)](a, b, c, out, ROWS=ROWS, INNER=INNER, COLUMNS=COLUMNS, num_warps=num_warps)
    return {"out": out}


def reference(a, b, c):
    return {"out": (a.double() @ b.double()).T @ c.double()}


def inputs(case, device, generator):
    def drawn(*shape):
        made = torch.randint(-2, 3, shape, generator=generator, device=generator.device)
        return made.to(device, case.torch_dtype)

    return {"a": drawn(ROWS, INNER), "b": drawn(INNER, COLUMNS), "c": drawn(ROWS, INNER)}


NVIDIA: Dict[str, Any] = {"lanes": ("compile", "emulate", "device"), "targets": ("sm_80", "sm_90")}

KERNEL = kernel_of(
    globals(),
    cases=(
        Case("4-warps", "fp16", {}, options={"num_warps": 4}, **NVIDIA),
        Case("8-warps", "fp16", {}, options={"num_warps": 8}, **NVIDIA),
    ),
    uses=("dot",),
    # integers, all of them exact
    tolerance={"fp16": 0.0},
)
