"""Bytes that are compared, four to a register: the first of each four is compared together with its neighbours."""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, kernel_of

ROWS, COLUMNS = 16, 64


@triton.jit
def _compared_kernel(
    x_ptr, y_ptr, less_ptr, equal_ptr, least_ptr, ROWS: tl.constexpr, COLUMNS: tl.constexpr
):
    columns = tl.arange(0, COLUMNS)
    at = tl.arange(0, ROWS)[:, None] * COLUMNS + columns[None, :]
    x, y = tl.load(x_ptr + at), tl.load(y_ptr + at)
    tl.store(less_ptr + at, (x < y).to(tl.int32))
    tl.store(equal_ptr + at, (x == y).to(tl.int32))
    tl.store(least_ptr + columns, tl.argmin(x, 0))


def launch(x, y):
    less, equal = (torch.empty(x.shape, dtype=torch.int32, device=x.device) for _ in range(2))
    least = torch.empty(COLUMNS, dtype=torch.int32, device=x.device)
    _compared_kernel[(1,)](x, y, less, equal, least, ROWS=ROWS, COLUMNS=COLUMNS)
    return {"less": less, "equal": equal, "least": least}


def reference(x, y):
    x, y = x.int(), y.int()
    return {"less": x < y, "equal": x == y, "least": x.argmin(0)}


def inputs(case, device, generator):
    def drawn(columns):
        made = (torch.randperm(ROWS, generator=generator, device=generator.device) for _ in columns)
        return torch.stack(list(made), 1)

    # each once in its column, so that only one place is the least one's; some of both tiles are equal
    x, y = drawn(range(COLUMNS)), drawn(range(COLUMNS))
    dtype = getattr(torch, case.id)
    lowest = -ROWS // 2 if dtype == torch.int8 else 120
    return {"x": (x + lowest).to(device, dtype), "y": (y + lowest).to(device, dtype)}


LANES, TARGETS = ("compile", "emulate", "device"), ("sm_80", "sm_90")

KERNEL = kernel_of(
    globals(),
    cases=(Case("int8", "fp32", {}, LANES, TARGETS), Case("uint8", "fp32", {}, LANES, TARGETS)),
    # integers, all of them exact
    tolerance={"fp32": 0.0},
)
