"""The result of an atomic operation, given another dimension: fewer elements than threads, so some threads hold
copies."""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, kernel_of

ROWS = 32


@triton.jit
def _result_kernel(
    x_ptr, v_ptr, y_ptr, ROWS: tl.constexpr, SIZE: tl.constexpr, MASKED: tl.constexpr
):
    rows, column = tl.arange(0, ROWS), tl.arange(0, SIZE)
    if MASKED:
        wanted = column % 2 == 0
        before = tl.atomic_add(x_ptr + column, tl.load(v_ptr + column), mask=wanted)
        before = tl.where(wanted, before, 0)
    else:
        before = tl.atomic_add(x_ptr + column, tl.load(v_ptr + column))
    at = rows[:, None] * SIZE + column[None, :]
    tl.store(y_ptr + at, tl.broadcast_to(before[None, :], [ROWS, SIZE]))


def launch(x, v, masked):
    added = x.clone()
    y = torch.empty(ROWS, len(x), dtype=x.dtype, device=x.device)
    _result_kernel[(1,)](added, v, y, ROWS=ROWS, SIZE=len(x), MASKED=masked)
    return {"added": added, "before": y}


def reference(x, v, masked):
    wanted = torch.arange(len(x), device=x.device) % 2 == 0 if masked else torch.ones_like(x) > 0
    before = x.double() * wanted
    return {"added": x.double() + v.double() * wanted, "before": before.expand(ROWS, len(x))}


def inputs(case, device, generator):
    def whole():
        drawn = torch.randint(1, 50, (case.shape["N"],), generator=generator, device=generator.device)  # fmt: skip
        return drawn.to(device, torch.int64 if case.id == "long" else case.torch_dtype)

    return {"x": whole(), "v": whole(), "masked": case.id == "masked"}


NVIDIA = ("sm_80", "sm_90")

KERNEL = kernel_of(
    globals(),
    cases=(
        Case("one", "fp32", {"N": 1}, targets=NVIDIA),
        Case("row-16", "fp32", {"N": 16}, targets=NVIDIA),
        Case("masked", "fp32", {"N": 16}, targets=NVIDIA),
        # the interpreter of some releases adds no float16 atomically
        Case("half", "fp16", {"N": 64}, lanes=("compile", "emulate", "device"), targets=NVIDIA),
        Case("long", "fp32", {"N": 32}, targets=NVIDIA),
    ),
    uses=("atomic",),
    # integers
    tolerance={"fp32": 0.0, "fp16": 0.0},
)
