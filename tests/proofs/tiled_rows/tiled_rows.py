"""Rows that are reduced by one tile for few of them and by another for many, as torch.compile chooses tiles.

crosswarp run --suite tests/proofs/tiled_rows --here PYTHON --targets sm_90 --modes bare --lanes emulate --batch
"""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, kernel_of

OPERATIONS = ("layer", "rms", "softmax")
# Rows a program and warps, of few rows and of many.
TILES = (
    ((1, 1), (8, 2)), ((1, 2), (8, 4)), ((1, 4), (8, 4)), ((1, 4), (4, 4)), ((8, 4), (8, 4)), ((1, 8), (8, 8)),
    ((1, 2), (1, 4)),
)  # fmt: skip
FEW = 8
EPSILON = 1e-5


@triton.jit
def _rows_kernel(x_ptr, y_ptr, M, N, eps, ROWS: tl.constexpr, SIZE: tl.constexpr, OP: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    columns = tl.arange(0, SIZE)[None, :]
    there = (rows < M) & (columns < N)
    x = tl.load(x_ptr + rows * N + columns, mask=there, other=0.0)
    if OP == 0:
        centred = tl.where(there, x - tl.sum(x, 1)[:, None] / N, 0.0)
        y = centred / tl.sqrt(tl.sum(centred * centred, 1)[:, None] / N + eps)
    elif OP == 1:
        y = x / tl.sqrt(tl.sum(x * x, 1)[:, None] / N + eps)
    else:
        largest = tl.max(tl.where(there, x, -float("inf")), 1)[:, None]
        e = tl.where(there, tl.exp(x - largest), 0.0)
        y = e / tl.sum(e, 1)[:, None]
    tl.store(y_ptr + rows * N + columns, y, mask=there)


def launch(x, operation, few, many):
    M, N = x.shape
    y = torch.empty_like(x)
    rows, warps = few if M < FEW else many
    _rows_kernel[(triton.cdiv(M, rows),)](
        x, y, M, N, EPSILON, ROWS=rows, SIZE=triton.next_power_of_2(N), OP=OPERATIONS.index(operation),
        num_warps=warps,
    )  # fmt: skip
    return {"y": y}


def reference(x, operation):
    x = x.double()
    if operation == "softmax":
        return {"y": x.softmax(1)}
    if operation == "layer":
        x = x - x.mean(1, keepdim=True)
    return {"y": x / (x * x).mean(1, keepdim=True).add(EPSILON).sqrt()}


def inputs(case, device, generator):
    x = torch.randn(case.shape["M"], case.shape["N"], generator=generator)
    return {"x": x.to(device, case.torch_dtype), "operation": case.id.partition("-")[0]}


KERNEL = kernel_of(
    globals(),
    cases=tuple(
        Case(
            f"{operation}-{few[0]}x{few[1]}-{many[0]}x{many[1]}",
            "fp32",
            {"M": 8, "N": 256},
            lanes=("emulate",),
            options={"few": few, "many": many},
        )
        for operation in OPERATIONS
        for few, many in TILES
    ),
    tolerance={"fp32": 1e-5},
    batch="M",
)
