"""``tl.atomic_xchg`` of a tile, which Triton lowers to a buffer instruction where AMD's target has one."""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, kernel_of

SIZE = 256


@triton.jit
def _exchange_kernel(x_ptr, y_ptr, before_ptr, SIZE: tl.constexpr):
    at = tl.arange(0, SIZE)
    before = tl.atomic_xchg(y_ptr + at, tl.load(x_ptr + at))
    tl.store(before_ptr + at, before)


def launch(x, y):
    after, before = y.clone(), torch.empty_like(y)
    _exchange_kernel[(1,)](x, after, before, SIZE=len(x))
    return {"after": after, "before": before}


def reference(x, y):
    return {"after": x.double(), "before": y.double()}


def inputs(case, device, generator):
    dtype = torch.float64 if case.id == "double" else torch.int32

    def whole():
        drawn = torch.randint(1, 999, (SIZE,), generator=generator, device=generator.device)
        return drawn.to(device, dtype)

    return {"x": whole(), "y": whole()}


TARGETS = ("gfx9*", "gfx11*", "gfx12*")

KERNEL = kernel_of(
    globals(),
    cases=(
        Case("tile", "fp32", {"N": SIZE}, targets=TARGETS),
        # the interpreter exchanges no floats
        Case("double", "fp32", {"N": SIZE}, ("compile", "emulate", "device"), TARGETS),
    ),
    uses=("atomic",),
    # integers
    tolerance={"fp32": 0.0},
)
