"""Gluon: sums of rows whose tiles come by cp.async, two of them under way, into swizzled shared memory."""

import torch

from crosswarp.kernels.case import Case, kernel_of
from crosswarp.kernels.gluon_import import gl, gluon, language

async_copy = language("nvidia.ampere.async_copy")
TARGETS = ("sm_90", "sm_100")


@gluon.jit
def _by_the_old_name(tile, pointers, mask):
    async_copy.async_copy_global_to_shared(tile, pointers, mask=mask)


# triton 3.8 names it anew, and 3.9 refuses the old name
@gluon.jit
def _by_the_new_name(tile, pointers, mask):
    async_copy.async_load(tile, pointers, mask=mask)


@gluon.jit
def _sums_kernel(
    x_ptr, y_ptr, n, stride, COPY: gl.constexpr, ROWS: gl.constexpr, COLS: gl.constexpr
):
    layout: gl.constexpr = gl.BlockedLayout([1, 4], [4, 8], [4, 1], [1, 0])
    shared: gl.constexpr = gl.SwizzledSharedLayout(4, 1, 4, order=[1, 0])
    tiles = gl.allocate_shared_memory(gl.float32, [2, ROWS, COLS], shared)
    rows = gl.program_id(0) * ROWS + gl.arange(0, ROWS, layout=gl.SliceLayout(1, layout))
    cols = gl.arange(0, COLS, layout=gl.SliceLayout(0, layout))
    pointers = x_ptr + rows[:, None] * stride + cols[None, :]
    COPY(tiles.index(0), pointers, cols[None, :] < n)
    async_copy.commit_group()
    total = gl.zeros([ROWS, COLS], gl.float32, layout=layout)
    stage = 0
    for start in range(0, n, COLS):
        # elements beyond the row are not read, and are zero in the tile
        COPY(tiles.index(1 - stage), pointers + start + COLS, cols[None, :] + start + COLS < n)
        async_copy.commit_group()
        async_copy.wait_group(1)
        total += tiles.index(stage).load(layout)
        stage = 1 - stage
    async_copy.wait_group(0)
    gl.store(y_ptr + rows, gl.sum(total, axis=1))


NAMES = {"old": _by_the_old_name, "new": _by_the_new_name}


def launch(x, names):
    m, n = x.shape
    y = torch.empty(m, dtype=torch.float32, device=x.device)
    _sums_kernel[(m // 16,)](x, y, n, x.stride(0), NAMES[names], ROWS=16, COLS=32, num_warps=4)
    return {"y": y}


def reference(x, names):
    return {"y": x.double().sum(1)}


def inputs(case, device, generator):
    m, n = case.shape["M"], case.shape["N"]
    x = torch.randn(m, n, generator=generator, device=generator.device)
    return {"x": x.to(device), "names": case.id}


KERNEL = kernel_of(
    globals(),
    cases=(
        Case("old", "fp32", {"M": 32, "N": 96}, targets=TARGETS),
        Case("new", "fp32", {"M": 32, "N": 96}, targets=TARGETS, requires=("gluon-async-load",)),
    ),
    # measured in the lane emulate, three seeds: 8.2e-8
    tolerance={"fp32": 4e-7},
    uses=("gluon",),
)
