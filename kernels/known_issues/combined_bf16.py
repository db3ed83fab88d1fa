"""A reduction and a scan of bfloat16 whose functions take the larger and the smaller of two."""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, kernel_of

ROWS, COLUMNS = 16, 64


@triton.jit
def _larger(a, b):
    return tl.maximum(a, b)


@triton.jit
def _smaller(a, b):
    return tl.minimum(a, b)


@triton.jit
def _reduce_kernel(x_ptr, y_ptr, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    rows = tl.arange(0, ROWS)
    x = tl.load(x_ptr + rows[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :])
    tl.store(y_ptr + rows, tl.reduce(x, 1, _larger))


@triton.jit
def _scan_kernel(x_ptr, y_ptr, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    at = tl.arange(0, ROWS)[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    tl.store(y_ptr + at, tl.associative_scan(tl.load(x_ptr + at), 1, _smaller))


def launch(x, scan):
    y = torch.empty_like(x) if scan else torch.empty_like(x[:, 0])
    (_scan_kernel if scan else _reduce_kernel)[(1,)](x, y, ROWS=ROWS, COLUMNS=COLUMNS)
    return {"y": y}


def reference(x, scan):
    x = x.double()
    return {"y": x.cummin(1).values if scan else x.amax(1)}


def inputs(case, device, generator):
    x = torch.randn(ROWS, COLUMNS, generator=generator, device=generator.device)
    return {"x": x.to(device, case.torch_dtype), "scan": case.id == "scan"}


KERNEL = kernel_of(
    globals(),
    # Interpreters reduce the bit patterns of bfloat16.
    cases=(
        Case(
            "reduce",
            "bf16",
            {"M": ROWS, "N": COLUMNS},
            lanes=("compile", "emulate", "device"),
            targets=("sm_80", "sm_90"),
        ),
        Case(
            "scan",
            "bf16",
            {"M": ROWS, "N": COLUMNS},
            lanes=("compile", "emulate", "device"),
            targets=("sm_80", "sm_90"),
        ),
    ),
    # one of the numbers, as it is
    tolerance={"bf16": 0.0},
)
