"""The k largest of each row and where they are, largest first, of equals the first.

Each program sorts one block of a row and keeps its k best. As long as these are more than a block, they are the next
row. In one case the kernel gets both of its outputs as one argument, a tuple.
"""

import torch
import triton
import triton.language as tl

from crosswarp.compat.launch import num_warps
from crosswarp.kernels.case import Case, kernel_of

LARGEST_BLOCK = 1024


@triton.jit
def _in_order(bits):
    """The bits of a float as an integer of the same order, and back."""
    return bits ^ ((bits >> 31) & 0x7FFFFFFF)


@triton.jit
def _best_of_block(
    x_ptr, from_ptr, value_ptr, index_ptr, x_row, N, K: tl.constexpr, BLOCK: tl.constexpr
):
    # 64 bits: rows times columns may pass 2^31
    row = tl.program_id(0).to(tl.int64)
    place = tl.arange(0, BLOCK)
    cols = tl.program_id(1) * BLOCK + place
    mask = cols < N
    x = tl.load(x_ptr + row * x_row + cols, mask=mask, other=0.0).to(tl.float32)
    if from_ptr is None:
        index = cols
    else:
        # candidates, with their original indices
        index = tl.load(from_ptr + row * N + cols, mask=mask, other=0)
    # the largest are the smallest of the complements
    key = _in_order(x.to(tl.int32, bitcast=True)) ^ -1
    key = tl.where(mask, key, 0x7FFFFFFF)
    index = tl.where(mask, index, 0x7FFFFFFF)
    both = tl.sort((key.to(tl.int64) << 32) | index.to(tl.int64))
    value = _in_order((both >> 32).to(tl.int32) ^ -1).to(tl.float32, bitcast=True)
    # elements beyond the row are NaN by their bits, and must not win in the next round
    index = (both & 0x7FFFFFFF).to(tl.int32)
    value = tl.where(index == 0x7FFFFFFF, -float("inf"), value)
    at = (row * tl.num_programs(1) + tl.program_id(1)) * K + place
    tl.store(value_ptr + at, value.to(value_ptr.dtype.element_ty), mask=place < K)
    tl.store(index_ptr + at, index, mask=place < K)


@triton.jit
def _separate_kernel(
    x_ptr, from_ptr, value_ptr, index_ptr, x_row, N, K: tl.constexpr, BLOCK: tl.constexpr
):
    _best_of_block(x_ptr, from_ptr, value_ptr, index_ptr, x_row, N, K, BLOCK)


@triton.jit
def _tuple_kernel(x_ptr, from_ptr, outputs, x_row, N, K: tl.constexpr, BLOCK: tl.constexpr):
    _best_of_block(x_ptr, from_ptr, outputs[0], outputs[1], x_row, N, K, BLOCK)


def launch(x, k, block=LARGEST_BLOCK, as_tuple=False):
    """The block has to be larger than k, or the candidates would never become fewer."""
    rows, width = x.shape
    value, index = x, None
    while True:
        width = value.shape[1]
        this = max(min(block, triton.next_power_of_2(width)), 2)
        parts = triton.cdiv(width, this)
        size = (rows, parts * k)
        outputs = (
            torch.empty(size, dtype=x.dtype, device=x.device),
            torch.empty(size, dtype=torch.int32, device=x.device),
        )
        kernel = _tuple_kernel if as_tuple else _separate_kernel
        given = (outputs,) if as_tuple else outputs
        kernel[(rows, parts)](
            value, index, *given, value.stride(0), width, K=k, BLOCK=this, num_warps=num_warps(this)
        )
        value, index = outputs
        if parts == 1:
            return {"value": value, "index": index + 1}


def reference(x, k):
    value, index = x.double().sort(dim=1, descending=True, stable=True)
    # from 1 on: all of a row of one would be zero
    return {"value": value[:, :k], "index": index[:, :k].double() + 1}


def inputs(case, device, generator):
    rows, width = case.shape["M"], case.shape["N"]
    x = torch.randn(rows, width, generator=generator, device=generator.device, dtype=torch.float32)
    if case.shape.get("equals"):
        x = x.round() + 0.5
    return {"x": x.to(device, case.torch_dtype), "k": case.shape["K"]}


KERNEL = kernel_of(
    globals(),
    batch="M",
    cases=(
        # three rounds of candidates, some of them empty
        Case("fp32-2x301-k5", "fp32", {"M": 2, "N": 301, "K": 5}, options={"block": 32}),
        Case("fp16-1x1-k1", "fp16", {"M": 1, "N": 1, "K": 1}),
        Case("bf16-3x77-k8-equals", "bf16", {"M": 3, "N": 77, "K": 8, "equals": 1}),
        Case(
            "fp32-3x40-k3-tuple",
            "fp32",
            {"M": 3, "N": 40, "K": 3},
            options={"as_tuple": True},
            requires=("tuple-argument",),
        ),
    ),
    # nothing is computed
    tolerance={"fp32": 0.0, "fp16": 0.0, "bf16": 0.0},
)
