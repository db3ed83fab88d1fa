"""Where the largest element of a tile lies, asked of the tile as one dimension: the place is of another order."""

import torch
import triton
import triton.language as tl

from crosswarp.kernels.case import Case, Kernel

ROWS, COLUMNS = 16, 32


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


def launch(x, num_warps):
    largest, smallest = (torch.empty(len(x), dtype=torch.int32, device=x.device) for _ in range(2))
    options = {"TILES": len(x), "ROWS": ROWS, "COLUMNS": COLUMNS, "num_warps": num_warps}
    _places_kernel[(1,)](x, largest, smallest, **options)
    return {"largest": largest, "smallest": smallest}


def reference(x):
    turned = x.transpose(1, 2)
    return {
        "largest": x.reshape(len(x), -1).argmax(1),
        "smallest": turned.reshape(len(x), -1).argmin(1),
    }


def inputs(case, device, generator):
    # Each once, so that only one place is right.
    tiles = [
        torch.randperm(ROWS * COLUMNS, generator=generator, device=generator.device)
        for _ in range(case.shape["TILES"])
    ]
    x = torch.stack(tiles).reshape(-1, ROWS, COLUMNS) - 99
    return {"x": x.to(device, torch.float32)}


KERNEL = Kernel(
    name="flattened_argmax",
    cases=tuple(
        Case(name, "fp32", {"TILES": 3}, targets=("sm_80", "sm_90"), options={"num_warps": warps})
        for name, warps in (("one-warp", 1), ("four-warps", 4))
    ),
    inputs=inputs,
    launch=launch,
    reference=reference,
    # places
    tolerance={"fp32": 0.0},
)
