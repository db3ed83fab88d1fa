"""Blocks in a cluster, for whose layouts all tiles of a kernel are planned together."""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, Kernel

SIZE = 32


@triton.jit
def _ranks_kernel(x_ptr, out_ptr, SIZE: tl.constexpr):
    rows = tl.arange(0, SIZE)
    tl.store(out_ptr + rows, tl.load(x_ptr + rows))
    at = SIZE + rows[:, None] * SIZE + rows[None, :]
    tl.store(out_ptr + at, tl.load(x_ptr + at))


@triton.jit
def _sum_kernel(x_ptr, out_ptr, SIZE: tl.constexpr):
    rows = tl.arange(0, SIZE)
    x = tl.load(x_ptr + rows[:, None] * SIZE + rows[None, :])
    tl.store(out_ptr, tl.sum(tl.sum(x, 0), 0))


def launch(x, way):
    out = torch.empty(x.numel() if way == "ranks" else 1, dtype=x.dtype, device=x.device)
    kernel = _ranks_kernel if way == "ranks" else _sum_kernel
    kernel[(1,)](x, out, SIZE=SIZE, num_ctas=2)
    return {"out": out}


def reference(x, way):
    return {"out": x if way == "ranks" else x[: SIZE * SIZE].double().sum()[None]}


def inputs(case, device, generator):
    made = torch.randint(-9, 10, (SIZE * (SIZE + 1),), generator=generator, device=generator.device)
    return {"x": made.to(device, case.torch_dtype), "way": case.id}


LANES, TARGETS = ("compile", "device"), ("sm_90",)

KERNEL = Kernel(
    name="cluster_tiles",
    cases=(Case("ranks", "fp32", {}, LANES, TARGETS), Case("sum", "fp32", {}, LANES, TARGETS)),
    inputs=inputs,
    launch=launch,
    reference=reference,
    # whole numbers, all of them exact
    tolerance={"fp32": 0.0},
)
