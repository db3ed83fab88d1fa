"""Rows that are sorted and hold a negative zero, or an infinity, as logits that are masked do."""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, kernel_of


@triton.jit
def _sort_kernel(x_ptr, y_ptr, ROWS: tl.constexpr, SIZE: tl.constexpr, DESCENDING: tl.constexpr):
    at = tl.arange(0, ROWS)[:, None] * SIZE + tl.arange(0, SIZE)[None, :]
    tl.store(y_ptr + at, tl.sort(tl.load(x_ptr + at), descending=DESCENDING))


def launch(x, descending):
    y = torch.empty_like(x)
    _sort_kernel[(1,)](x, y, ROWS=x.shape[0], SIZE=x.shape[1], DESCENDING=descending, num_warps=4)
    return {"y": y}


def reference(x, descending):
    return {"y": x.double().sort(descending=descending).values}


def inputs(case, device, generator):
    rows, size = case.shape["M"], case.shape["N"]
    x = torch.randint(-9, 10, (rows, size), generator=generator, device=generator.device).float()
    special = -0.0 if case.id.startswith("negative-zero") else float("-inf")
    x[torch.rand(rows, size, generator=generator, device=generator.device) < 0.25] = special
    return {"x": x.to(device, case.torch_dtype), "descending": "descending" in case.id}


KERNEL = kernel_of(
    globals(),
    cases=(
        Case("negative-zero", "fp32", {"M": 8, "N": 32}),
        Case("negative-zero-descending", "fp16", {"M": 8, "N": 32}),
        Case("infinity", "fp32", {"M": 8, "N": 32}),
        Case("infinity-descending", "fp16", {"M": 8, "N": 32}),
    ),
    # nothing but exchanged
    tolerance={"fp32": 0.0, "fp16": 0.0},
)  # fmt: skip
