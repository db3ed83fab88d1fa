"""Gluon: a histogram by atomics, and a running sum by associative_scan with a function that the kernel's file
defines."""

import torch

from crosswarp.kernels.case import Case, kernel_of
from crosswarp.kernels.gluon_import import gl, gluon, warp_size

BINS, BLOCK = 8, 512
TARGETS = ("sm_90", "sm_100", "gfx942")


@gluon.jit
def _sum(count, other):
    return count + other


@gluon.jit
def _histogram_kernel(x_ptr, counts_ptr, sums_ptr, n, BLOCK: gl.constexpr, WARP: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([2], [WARP], [4], [0])
    at = gl.arange(0, BLOCK, layout=layout)
    inside = at < n
    x = gl.load(x_ptr + at, mask=inside, other=0)
    gl.atomic_add(counts_ptr + x, gl.full([BLOCK], 1, gl.int32, layout=layout), mask=inside)
    gl.store(sums_ptr + at, gl.associative_scan(x, 0, _sum), mask=inside)


def launch(x):
    counts = torch.zeros(BINS, dtype=torch.int32, device=x.device)
    sums = torch.empty_like(x)
    _histogram_kernel[(1,)](x, counts, sums, x.numel(), BLOCK=BLOCK, WARP=warp_size(), num_warps=4)
    return {"counts": counts, "sums": sums}


def reference(x):
    counts = torch.bincount(x.long(), minlength=BINS)
    return {"counts": counts.double(), "sums": x.double().cumsum(0)}


def inputs(case, device, generator):
    x = torch.randint(
        0, BINS, (case.shape["N"],), generator=generator, device=generator.device, dtype=torch.int32
    )
    return {"x": x.to(device)}


KERNEL = kernel_of(
    globals(),
    cases=(Case("int32-500", "fp32", {"N": 500}, targets=TARGETS),),
    # integers
    tolerance={"fp32": 0.0},
    uses=("gluon", "atomic"),
)
