"""tl.gather along either axis, with fewer and with more indices than elements: missing before Triton 3.3."""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, kernel_of

ROWS, COLUMNS = 16, 32


@triton.jit
def _gather_kernel(
    x_ptr, rows_ptr, columns_ptr, y_ptr, z_ptr,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, FEWER: tl.constexpr, MORE: tl.constexpr,
):  # fmt: skip
    row = tl.arange(0, ROWS)[:, None]
    column = tl.arange(0, COLUMNS)[None, :]
    x = tl.load(x_ptr + row * COLUMNS + column)
    fewer = tl.arange(0, FEWER)[:, None] * COLUMNS + column
    tl.store(y_ptr + fewer, tl.gather(x, tl.load(rows_ptr + fewer), 0))
    more = row * MORE + tl.arange(0, MORE)[None, :]
    tl.store(z_ptr + more, tl.gather(x, tl.load(columns_ptr + more), axis=-1))


def launch(x, rows, columns):
    y, z = (
        torch.empty(indices.shape, dtype=x.dtype, device=x.device) for indices in (rows, columns)
    )
    _gather_kernel[(1,)](
        x, rows, columns, y, z,
        ROWS=ROWS, COLUMNS=COLUMNS, FEWER=rows.shape[0], MORE=columns.shape[1],
    )  # fmt: skip
    return {"y": y, "z": z}


def reference(x, rows, columns):
    return {"y": x.gather(0, rows.long()), "z": x.gather(1, columns.long())}


def inputs(case, device, generator):
    x = torch.randn(ROWS, COLUMNS, generator=generator, device=generator.device)
    # nothing is added up: these come out as they went in
    x[0, :3] = torch.tensor([-0.0, float("inf"), -float("inf")])
    fewer, more = (case.shape[name] for name in ("fewer", "more"))
    rows, columns = (
        torch.randint(0, size, shape, generator=generator, device=generator.device)
        for size, shape in ((ROWS, (fewer, COLUMNS)), (COLUMNS, (ROWS, more)))
    )
    return {
        "x": x.to(device, case.torch_dtype),
        "rows": rows.to(device, torch.int32),
        "columns": columns.to(device, torch.int32),
    }


KERNEL = kernel_of(
    globals(),
    cases=tuple(
        Case(f"{dtype}-{fewer}-{more}", dtype, {"fewer": fewer, "more": more})
        for dtype, fewer, more in (("fp32", 1, 64), ("fp16", 4, 8))
    ),
    tolerance={"fp32": 0.0, "fp16": 0.0},
)
