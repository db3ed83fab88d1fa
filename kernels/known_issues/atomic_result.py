"""What an atomic operation returns, given another dimension: fewer elements than threads, so that some hold copies."""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, Kernel

ROWS = 32


@triton.jit
def _result_kernel(x_ptr, v_ptr, y_ptr, ROWS: tl.constexpr, SIZE: tl.constexpr):
    rows, column = tl.arange(0, ROWS), tl.arange(0, SIZE)
    before = tl.atomic_add(x_ptr + column, tl.load(v_ptr + column))
    at = rows[:, None] * SIZE + column[None, :]
    tl.store(y_ptr + at, tl.broadcast_to(before[None, :], [ROWS, SIZE]))


def launch(x, v):
    added = x.clone()
    y = torch.empty(ROWS, len(x), dtype=x.dtype, device=x.device)
    _result_kernel[(1,)](added, v, y, ROWS=ROWS, SIZE=len(x))
    return {"added": added, "before": y}


def reference(x, v):
    return {"added": x.double() + v.double(), "before": x.double().expand(ROWS, len(x))}


def inputs(case, device, generator):
    def whole():
        drawn = torch.randint(1, 50, (case.shape["N"],), generator=generator, device=generator.device)  # fmt: skip
        return drawn.to(device, case.torch_dtype)

    return {"x": whole(), "v": whole()}


KERNEL = Kernel(
    name="atomic_result",
    cases=(
        Case("one", "fp32", {"N": 1}, targets=("sm_80", "sm_90")),
        Case("row-16", "fp32", {"N": 16}, targets=("sm_80", "sm_90")),
    ),
    inputs=inputs,
    launch=launch,
    reference=reference,
    uses=("atomic",),
    # whole numbers
    tolerance={"fp32": 0.0},
)
