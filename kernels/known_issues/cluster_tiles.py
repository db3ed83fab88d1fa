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


@triton.jit
def _chained_kernel(x_ptr, out_ptr, SIZE: tl.constexpr):
    rows = tl.arange(0, SIZE)
    at = rows[:, None] * SIZE + rows[None, :]
    x = tl.load(x_ptr + at)
    tl.store(out_ptr + at, tl.dot(tl.dot(x, x).to(tl.float16), x))


@triton.jit
def _joined_kernel(x_ptr, out_ptr, SIZE: tl.constexpr):
    rows = tl.arange(0, SIZE)
    at = rows[:, None] * SIZE + rows[None, :]
    x = tl.load(x_ptr + at)
    pair = tl.arange(0, 2)
    tl.store(out_ptr + 2 * at[:, :, None] + pair[None, None, :], tl.join(x, x + x))


@triton.jit
def _turned_kernel(x_ptr, out_ptr, SIZE: tl.constexpr):
    rows = tl.arange(0, SIZE)
    x = tl.load(x_ptr + rows[:, None] * SIZE + rows[None, :])
    tl.store(out_ptr + rows[:, None] * SIZE + rows[None, :], tl.trans(x))


def launch(x, way):
    square = SIZE * SIZE
    kernel, size, dtype = {
        "ranks": (_ranks_kernel, x.numel(), x.dtype),
        "sum": (_sum_kernel, 1, x.dtype),
        "chained": (_chained_kernel, square, torch.float32),
        "joined": (_joined_kernel, 2 * square, x.dtype),
        "turned": (_turned_kernel, square, x.dtype),
    }[way]
    out = torch.empty(size, dtype=dtype, device=x.device)
    kernel[(1,)](x, out, SIZE=SIZE, num_ctas=2)
    return {"out": out}


def reference(x, way):
    tile = x[: SIZE * SIZE].double()
    if way == "ranks":
        return {"out": x}
    if way == "sum":
        return {"out": tile.sum()[None]}
    if way == "joined":
        return {"out": torch.stack([tile, tile + tile], -1).flatten()}
    tile = tile.view(SIZE, SIZE)
    if way == "turned":
        return {"out": tile.T.flatten()}
    return {"out": (tile @ tile @ tile).flatten()}


def inputs(case, device, generator):
    # of the products sums below 2,048, which float16 holds
    most = 4 if case.id == "chained" else 10
    made = torch.randint(
        1 - most, most, (SIZE * (SIZE + 1),), generator=generator, device=generator.device
    )
    return {"x": made.to(device, case.torch_dtype), "way": case.id}


LANES, TARGETS = ("compile", "device"), ("sm_90",)

KERNEL = Kernel(
    name="cluster_tiles",
    cases=(
        Case("ranks", "fp32", {}, LANES, TARGETS),
        Case("sum", "fp32", {}, LANES, TARGETS),
        Case("chained", "fp16", {}, LANES, TARGETS),
        Case("joined", "fp32", {}, LANES, TARGETS),
        Case("turned", "fp32", {}, LANES, TARGETS),
    ),
    inputs=inputs,
    launch=launch,
    reference=reference,
    # whole numbers, all of them exact
    tolerance={"fp32": 0.0, "fp16": 0.0},
)
