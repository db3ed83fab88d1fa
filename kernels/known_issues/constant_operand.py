"""A product with a constant operand."""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, kernel_of

ROWS, COLUMNS, WIDTH = 64, 32, 64


@triton.jit
def _product_kernel(x_ptr, y_ptr, ROWS: tl.constexpr, COLUMNS: tl.constexpr, WIDTH: tl.constexpr):
    rows, columns, width = tl.arange(0, ROWS), tl.arange(0, COLUMNS), tl.arange(0, WIDTH)
    x = tl.load(x_ptr + columns[:, None] * WIDTH + width[None, :])
    product = tl.dot(tl.full([ROWS, COLUMNS], 2, tl.float16), x)
    tl.store(y_ptr + rows[:, None] * WIDTH + width[None, :], product)


def launch(x):
    y = torch.empty(ROWS, WIDTH, device=x.device)
    _product_kernel[(1,)](x, y, ROWS=ROWS, COLUMNS=COLUMNS, WIDTH=WIDTH)
    return {"y": y}


def reference(x):
    return {"y": (2 * x.double().sum(0)).expand(ROWS, WIDTH)}


def inputs(case, device, generator):
    x = torch.randint(-8, 9, (COLUMNS, WIDTH), generator=generator, device=generator.device)
    return {"x": x.to(device, case.torch_dtype)}


KERNEL = kernel_of(
    globals(),
    cases=(
        Case("twos", "fp16", {"M": ROWS, "K": COLUMNS, "N": WIDTH}, targets=("sm_80", "sm_90")),
    ),
    uses=("dot",),
    # integers, all of them exact in fp32
    tolerance={"fp16": 0.0},
)
