"""Rows of a table by their index, and the gradient of the table by atomic additions in fp32.

All tokens with one index add to the sum of one of them, so there are as many rows of sums as tokens, not as rows of the
table. The table's gradient, mostly zeros, is written once. The autotuner resets the sums of the adding kernel before
each configuration it tries. A padding index has no gradient. An input without any index has an empty grid.
"""

import torch
import triton
import triton.language as tl

from crosswarp.compat.launch import num_warps
from crosswarp.kernels.case import Case, kernel_of

LARGEST_BLOCK = 4096


@triton.jit
def _forward_kernel(index_ptr, table_ptr, y_ptr, table_stride, N, BLOCK: tl.constexpr):
    # 64 bits: the table may hold more than 2^31 elements
    token = tl.program_id(0).to(tl.int64)
    cols = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = cols < N
    row = tl.load(index_ptr + token).to(tl.int64)
    x = tl.load(table_ptr + row * table_stride + cols, mask=mask, other=0.0)
    tl.store(y_ptr + token * N + cols, x, mask=mask)


@triton.autotune(
    configs=[
        triton.Config({"BLOCK": 256}, num_warps=2, num_stages=2),
        triton.Config({"BLOCK": 1024}, num_warps=4, num_stages=2),
    ],
    key=["N"],
    reset_to_zero=["sums_ptr"],
)
@triton.jit
def _backward_kernel(
    index_ptr, slot_ptr, dy_ptr, sums_ptr, dy_stride, N, padding_index, BLOCK: tl.constexpr
):
    token = tl.program_id(0).to(tl.int64)
    cols = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = cols < N
    if tl.load(index_ptr + token) != padding_index:
        slot = tl.load(slot_ptr + token).to(tl.int64)
        dy = tl.load(dy_ptr + token * dy_stride + cols, mask=mask, other=0.0).to(tl.float32)
        tl.atomic_add(sums_ptr + slot * N + cols, dy, mask=mask)


@triton.jit
def _put_kernel(index_ptr, slot_ptr, sums_ptr, dtable_ptr, N, BLOCK: tl.constexpr):
    token = tl.program_id(0).to(tl.int64)
    cols = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = cols < N
    if tl.load(slot_ptr + token) == token:
        row = tl.load(index_ptr + token).to(tl.int64)
        x = tl.load(sums_ptr + token * N + cols, mask=mask, other=0.0)
        tl.store(dtable_ptr + row * N + cols, x.to(dtable_ptr.dtype.element_ty), mask=mask)


def launch(index, table, dy, padding_index, block=None):
    """Backward is autotuned, or with a given block launched directly."""
    tokens, width = dy.shape
    rows = table.shape[0]
    forward_block = block or min(LARGEST_BLOCK, triton.next_power_of_2(width))
    y = torch.empty((tokens, width), dtype=table.dtype, device=table.device)
    for part in (index, index[:0]):
        # the second of these is an empty batch
        _forward_kernel[(part.numel(), triton.cdiv(width, forward_block))](
            part,
            table,
            y,
            table.stride(0),
            width,
            BLOCK=forward_block,
            num_warps=num_warps(forward_block),
        )

    def grid(meta):
        return (tokens, triton.cdiv(width, meta["BLOCK"]))

    slot = _slots(index, rows)
    sums = torch.zeros((tokens, width), dtype=torch.float32, device=table.device)
    # the autotuner's own function is the plain kernel
    backward = _backward_kernel if block is None else _backward_kernel.fn
    chosen = {} if block is None else {"BLOCK": block}
    backward[grid](index, slot, dy, sums, dy.stride(0), width, padding_index, **chosen)
    dtable = torch.zeros((rows, width), dtype=table.dtype, device=table.device)
    _put_kernel[(tokens, triton.cdiv(width, forward_block))](
        index,
        slot,
        sums,
        dtable,
        width,
        BLOCK=forward_block,
        num_warps=num_warps(forward_block),
    )
    return {"y": y, "dtable": dtable}


def _slots(index, rows):
    """For each token, one of the tokens with the same index: the same one for all of them."""
    last = torch.empty(rows, dtype=torch.int64, device=index.device)
    # of several, the one written last
    last[index] = torch.arange(index.numel(), device=index.device)
    return last[index]


def reference(index, table, dy, padding_index):
    wanted = (index != padding_index).unsqueeze(1)
    dtable = torch.zeros(table.shape, dtype=torch.float64, device=table.device)
    dtable.index_add_(0, index, dy.double() * wanted)
    return {"y": table.double()[index], "dtable": dtable}


def inputs(case, device, generator):
    tokens, rows, width = (case.shape[name] for name in ("tokens", "V", "N"))

    def normal(*size):
        made = torch.randn(*size, generator=generator, device=generator.device, dtype=torch.float32)
        return made.to(device, case.torch_dtype)

    index = torch.randint(0, rows, (tokens,), generator=generator, device=generator.device)
    # some row that is added to many times
    index[::3] = rows // 2
    return {
        "index": index.to(device),
        "table": normal(rows, width),
        "dy": normal(tokens, width),
        "padding_index": int(index[1]) if tokens > 1 and int(index[1]) != rows // 2 else -1,
    }


KERNEL = kernel_of(
    globals(),
    batch="tokens",
    cases=(
        Case("fp32-19x301", "fp32", {"tokens": 19, "V": 11, "N": 301}, requires=("autotune",)),
        Case("bf16-7x2050", "bf16", {"tokens": 7, "V": 5, "N": 2050}, requires=("autotune",)),
        # launched without the autotuner: every interpreter can run it
        Case(
            "fp32-33x130-direct", "fp32", {"tokens": 33, "V": 7, "N": 130}, options={"block": 128}
        ),
        Case("fp16-1x1-direct", "fp16", {"tokens": 1, "V": 1, "N": 1}, options={"block": 16}),
    ),
    # measured: 6.7e-8, 0; bf16 is the rounding of the gradient, 1.8e-3
    tolerance={"fp32": 5e-6, "fp16": 1e-3, "bf16": 8e-3},
    uses=("atomic",),
)
