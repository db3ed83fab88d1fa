"""The index of a tile's largest element, flattened to one dimension: the index counts in another order.

The same holds for counts of it under a mask.
"""

import inspect

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, kernel_of

ROWS, COLUMNS, BINS = 16, 32, 16


@triton.jit
def _places_kernel(
    x_ptr, largest_ptr, smallest_ptr, TILES: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr
):
    rows, columns = tl.arange(0, ROWS), tl.arange(0, COLUMNS)
    for tile in tl.static_range(TILES):
        first = x_ptr + tile * ROWS * COLUMNS
        x = tl.load(first + rows[:, None] * COLUMNS + columns[None, :])
        tl.store(largest_ptr + tile, tl.argmax(tl.reshape(x, [ROWS * COLUMNS]), 0))
        turned = tl.load(first + rows[None, :] * COLUMNS + columns[:, None])
        tl.store(smallest_ptr + tile, tl.argmin(tl.reshape(turned, [ROWS * COLUMNS]), 0))


@triton.jit
def _counts_kernel(
    x_ptr, y_ptr, TILES: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr, BINS: tl.constexpr
):
    at = tl.arange(0, ROWS)[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    for tile in tl.static_range(TILES):
        x = tl.load(x_ptr + tile * ROWS * COLUMNS + at).to(tl.int32) & (BINS - 1)
        flat = tl.reshape(x, [ROWS * COLUMNS])
        first = tl.arange(0, ROWS * COLUMNS) < ROWS * COLUMNS // 4
        counts = tl.histogram(flat, BINS, mask=first)
        tl.store(y_ptr + tile * BINS + tl.arange(0, BINS), counts)


def launch(x, way):
    options = {"TILES": len(x), "ROWS": ROWS, "COLUMNS": COLUMNS}
    if way == "counted":
        counts = torch.empty(len(x), BINS, dtype=torch.int32, device=x.device)
        _counts_kernel[(1,)](x, counts, BINS=BINS, **options)
        return {"counts": counts}
    largest, smallest = (torch.empty(len(x), dtype=torch.int32, device=x.device) for _ in range(2))
    _places_kernel[(1,)](x, largest, smallest, num_warps=1 if way == "one-warp" else 4, **options)
    return {"largest": largest, "smallest": smallest}


def reference(x, way):
    flat = x.reshape(len(x), -1)
    if way == "counted":
        first = flat[:, : flat.shape[1] // 4].long() % BINS
        return {"counts": torch.stack([row.bincount(minlength=BINS) for row in first])}
    turned = x.transpose(1, 2)
    return {"largest": flat.argmax(1), "smallest": turned.reshape(len(x), -1).argmin(1)}


def inputs(case, device, generator):
    # Each value once, so that only one index is right.
    tiles = [
        torch.randperm(ROWS * COLUMNS, generator=generator, device=generator.device)
        for _ in range(case.shape["TILES"])
    ]
    x = torch.stack(tiles).reshape(-1, ROWS, COLUMNS)
    return {"x": x.to(device, torch.float32), "way": case.id}


def _no_mask():
    histogram = getattr(tl, "histogram", None)
    parameters = inspect.signature(histogram).parameters if histogram else ()
    return None if "mask" in parameters else "this Triton's tl.histogram takes no mask"


TARGETS = ("sm_80", "sm_90")

KERNEL = kernel_of(
    globals(),
    cases=(
        Case("one-warp", "fp32", {"TILES": 3}, targets=TARGETS),
        Case("four-warps", "fp32", {"TILES": 3}, targets=TARGETS),
        Case("counted", "fp32", {"TILES": 3}, targets=TARGETS, requires=("histogram-mask",)),
    ),
    # indices and counts
    tolerance={"fp32": 0.0},
    probes={"histogram-mask": _no_mask},
)
