"""Histogram of values in [0, 1): in each program by tl.histogram, or by atomic additions of single elements only.

Programs take many blocks each, by tl.range with its options in one case, and add their counts to the output.
"""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, kernel_of

BLOCK = 1024
# programs at the most: about as many as there are multiprocessors
PROGRAMS = 128


@triton.jit
def _bin_of(x_ptr, at, size, bins):
    """The bin of each element, and one more for elements beyond the input."""
    mask = at < size
    x = tl.load(x_ptr + at, mask=mask, other=0.0).to(tl.float32)
    bin_ = tl.minimum((x * bins).to(tl.int32), bins - 1)
    return tl.where(mask, bin_, bins)


@triton.jit
def _single_kernel(x_ptr, count_ptr, size, bins, share, BLOCK: tl.constexpr):
    # 64 bits: the input may be of any length
    first = tl.program_id(0).to(tl.int64) * share
    ones = tl.full([BLOCK], 1, dtype=tl.int32)
    for start in range(0, share, BLOCK):
        at = first + start + tl.arange(0, BLOCK)
        bin_ = _bin_of(x_ptr, at, size, bins)
        tl.atomic_add(count_ptr + bin_, ones, mask=bin_ < bins)


@triton.jit
def _block_kernel(x_ptr, count_ptr, size, bins, share, BLOCK: tl.constexpr, BINS: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * share
    counted = tl.zeros([BINS], dtype=tl.int32)
    for start in range(0, share, BLOCK):
        at = first + start + tl.arange(0, BLOCK)
        counted += tl.histogram(_bin_of(x_ptr, at, size, bins), BINS)
    b = tl.arange(0, BINS)
    tl.atomic_add(count_ptr + b, counted, mask=b < bins)


@triton.jit
def _pipelined_kernel(x_ptr, count_ptr, size, bins, share, BLOCK: tl.constexpr, BINS: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * share
    counted = tl.zeros([BINS], dtype=tl.int32)
    for start in tl.range(0, share, BLOCK, num_stages=3):
        at = first + start + tl.arange(0, BLOCK)
        counted += tl.histogram(_bin_of(x_ptr, at, size, bins), BINS)
    b = tl.arange(0, BINS)
    tl.atomic_add(count_ptr + b, counted, mask=b < bins)


def launch(x, bins, how="single"):
    size = x.numel()
    # whole blocks for each program
    share = triton.cdiv(triton.cdiv(size, PROGRAMS), BLOCK) * BLOCK
    grid = (triton.cdiv(size, share),)
    count = torch.zeros(bins, dtype=torch.int32, device=x.device)
    if how == "single":
        _single_kernel[grid](x, count, size, bins, share, BLOCK=BLOCK, num_warps=4)
    else:
        kernel = _pipelined_kernel if how == "pipelined" else _block_kernel
        # one more bin, for elements beyond the input
        padded = triton.next_power_of_2(bins + 1)
        kernel[grid](x, count, size, bins, share, BLOCK=BLOCK, BINS=padded, num_warps=4)
    return {"count": count}


def reference(x, bins):
    at = (x.double() * bins).long().clamp(max=bins - 1)
    return {"count": torch.bincount(at.flatten(), minlength=bins).double()}


def inputs(case, device, generator):
    size, bins = case.shape["N"], case.shape["bins"]
    x = torch.rand(size, generator=generator, device=generator.device, dtype=torch.float32)
    # well inside its bin: the product with the number of bins may be rounded up to the next bin
    x = ((x * bins).floor() + 0.5) / bins
    return {"x": x.to(device, case.torch_dtype), "bins": bins}


BY_BLOCK = {"how": "block"}

KERNEL = kernel_of(
    globals(),
    cases=(
        Case("fp32-3333-b10", "fp32", {"N": 3333, "bins": 10}),
        Case("fp16-1-b1", "fp16", {"N": 1, "bins": 1}),
        Case(
            "fp32-140000-b100-block",
            "fp32",
            {"N": 140000, "bins": 100},
            options=BY_BLOCK,
            requires=("histogram",),
        ),
        Case(
            "bf16-777-b7-block",
            "bf16",
            {"N": 777, "bins": 7},
            options=BY_BLOCK,
            requires=("histogram",),
        ),
        Case(
            "fp16-5000-b31-pipelined",
            "fp16",
            {"N": 5000, "bins": 31},
            options={"how": "pipelined"},
            requires=("histogram", "tl-range"),
        ),
    ),
    # counts are exact
    tolerance={"fp32": 0.0, "fp16": 0.0, "bf16": 0.0},
)
