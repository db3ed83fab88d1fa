"""Sort of each row with the indices it came from, either way round, stable; one row in one block.

A float's bits, as an integer of the same order, and the index below them make one 64-bit integer, which tl.sort sorts.
"""

import torch
import triton
import triton.language as tl

from crosswarp.compat.launch import num_warps
from crosswarp.kernels.case import Case, kernel_of


@triton.jit
def _in_order(bits):
    """The bits of a float as an integer of the same order, and back."""
    return bits ^ ((bits >> 31) & 0x7FFFFFFF)


@triton.jit
def _sort_kernel(
    x_ptr, y_ptr, index_ptr, x_row, x_col, N, DESCENDING: tl.constexpr, BLOCK: tl.constexpr
):
    # 64 bits: rows times columns may pass 2^31
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    mask = cols < N
    x = tl.load(x_ptr + row * x_row + cols * x_col, mask=mask, other=0.0).to(tl.float32)
    key = _in_order(x.to(tl.int32, bitcast=True))
    if DESCENDING:
        key = key ^ -1
    # elements beyond the row come last
    key = tl.where(mask, key, 0x7FFFFFFF)
    both = tl.sort((key.to(tl.int64) << 32) | cols.to(tl.int64))
    key = (both >> 32).to(tl.int32)
    if DESCENDING:
        key = key ^ -1
    y = _in_order(key).to(tl.float32, bitcast=True)
    tl.store(y_ptr + row * N + cols, y.to(y_ptr.dtype.element_ty), mask=mask)
    tl.store(index_ptr + row * N + cols, (both & 0x7FFFFFFF).to(tl.int32), mask=mask)


def launch(x, descending):
    rows, width = x.shape
    # two at the least: there is nothing to exchange in a block of one
    block = max(triton.next_power_of_2(width), 2)
    y = torch.empty((rows, width), dtype=x.dtype, device=x.device)
    index = torch.empty((rows, width), dtype=torch.int32, device=x.device)
    _sort_kernel[(rows,)](
        x,
        y,
        index,
        x.stride(0),
        x.stride(1),
        width,
        DESCENDING=descending,
        BLOCK=block,
        num_warps=num_warps(block),
    )
    return {"y": y, "index": index + 1}


def reference(x, descending):
    y, index = x.double().sort(dim=1, descending=descending, stable=True)
    # from 1 on: all of a row of one would be zero
    return {"y": y, "index": index.double() + 1}


def inputs(case, device, generator):
    rows, width = case.shape["M"], case.shape["N"]
    x = torch.randn(rows, width, generator=generator, device=generator.device, dtype=torch.float32)
    if case.shape.get("equals"):
        x = x.round() + 0.5
    if case.shape.get("infinite"):
        x[:, ::5] = -3e38
        x[:, 3::7] = 3e38
    x = x.to(device, case.torch_dtype)
    return {
        # columns that lie a row apart
        "x": x.t().contiguous().t() if case.shape.get("transposed") else x,
        "descending": bool(case.shape.get("descending")),
    }


KERNEL = kernel_of(
    globals(),
    batch="M",
    cases=(
        Case("fp32-3x50", "fp32", {"M": 3, "N": 50, "transposed": 1}),
        # the largest numbers there are, and many of them
        Case("fp32-2x33-extreme-down", "fp32", {"M": 2, "N": 33, "infinite": 1, "descending": 1}),
        Case("fp16-1x1", "fp16", {"M": 1, "N": 1}),
        Case("fp16-5x64-equals-down", "fp16", {"M": 5, "N": 64, "equals": 1, "descending": 1}),
        Case("bf16-2x130", "bf16", {"M": 2, "N": 130, "equals": 1}),
    ),
    # nothing is computed
    tolerance={"fp32": 0.0, "fp16": 0.0, "bf16": 0.0},
)
