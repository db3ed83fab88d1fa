"""Counts that a loop adds up block by block, and the bin with the most: a usual end of a histogram."""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, kernel_of

BINS, BLOCK, BLOCKS = 16, 64, 3


@triton.jit
def _counted_kernel(x_ptr, counts_ptr, blocks, BLOCK: tl.constexpr, BINS: tl.constexpr):
    at = tl.arange(0, BLOCK)
    counts = tl.histogram(tl.load(x_ptr + at), BINS)
    for block in range(1, blocks):
        counts += tl.histogram(tl.load(x_ptr + block * BLOCK + at), BINS)
    tl.store(counts_ptr + tl.arange(0, BINS), counts)


@triton.jit
def _latest_kernel(x_ptr, counts_ptr, blocks, BLOCK: tl.constexpr, BINS: tl.constexpr):
    at = tl.arange(0, BLOCK)
    bins = tl.arange(0, BINS)
    counts = tl.zeros([BINS], tl.int32)
    for block in range(0, blocks):
        counts = tl.histogram(tl.load(x_ptr + block * BLOCK + at), BINS)
    tl.store(counts_ptr + bins, counts)


@triton.jit
def _most_kernel(x_ptr, counts_ptr, blocks, BLOCK: tl.constexpr, BINS: tl.constexpr):
    counts = tl.histogram(tl.load(x_ptr + tl.arange(0, BLOCK)), BINS)
    tl.store(counts_ptr, tl.argmax(counts, 0))


KERNELS = {"added": _counted_kernel, "latest": _latest_kernel, "most": _most_kernel}


def launch(x, way):
    counts = torch.zeros(1 if way == "most" else BINS, dtype=torch.int32, device=x.device)
    KERNELS[way][(1,)](x, counts, BLOCKS, BLOCK=BLOCK, BINS=BINS, num_warps=4)
    return {"counts": counts}


def reference(x, way):
    blocks = x.long().split(BLOCK)
    counts = torch.stack([block.bincount(minlength=BINS) for block in blocks])
    if way == "most":
        return {"counts": counts[0].argmax().reshape(1)}
    return {"counts": counts.sum(0) if way == "added" else counts[-1]}


def inputs(case, device, generator):
    x = torch.randint(0, BINS, (BLOCK * BLOCKS,), generator=generator, device=generator.device)
    # one bin has the most
    x[:BLOCK:2] = 5
    return {"x": x.to(device, torch.int32), "way": case.id}


KERNEL = kernel_of(
    globals(),
    cases=tuple(Case(way, "fp32", {"N": BLOCK * BLOCKS}) for way in KERNELS),
    uses=("histogram",),
    # counts
    tolerance={"fp32": 0.0},
)
