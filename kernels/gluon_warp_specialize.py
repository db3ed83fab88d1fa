"""Gluon: sums of rows by specialised warps: one loads tiles by TMA into a ring, the others add and store."""

import torch
import triton

from crosswarp.kernels.case import Case, kernel_of
from crosswarp.kernels.gluon_import import gl, gluon, language, tensor_descriptor

hopper = language("nvidia.hopper")
tma, mbarrier = hopper.tma, hopper.mbarrier
TARGETS = ("sm_90", "sm_100")
ROWS, COLS = 16, 32


@gluon.jit
def _by_the_old_name(descriptor, at, arrived, tile):
    tma.async_copy_global_to_shared(descriptor, at, arrived, tile)


# triton 3.8 names it anew, and 3.9 refuses the old name
@gluon.jit
def _by_the_new_name(descriptor, at, arrived, tile):
    tma.async_load(descriptor, at, arrived, tile)


@gluon.jit
def _load(source, tiles, ready, empty, row, steps, LOAD: gl.constexpr, COLS: gl.constexpr):
    for step in range(steps):
        place, phase = step % 2, (step // 2) & 1
        mbarrier.wait(empty.index(place), phase=phase ^ 1)
        mbarrier.expect(ready.index(place), source.block_type.nbytes)
        LOAD(source, [row, step * COLS], ready.index(place), tiles.index(place))


@gluon.jit
def _add(
    tiles,
    ready,
    empty,
    y_ptr,
    row,
    steps,
    ROWS: gl.constexpr,
    COLS: gl.constexpr,
    layout: gl.constexpr,
):
    total = gl.zeros([ROWS, COLS], gl.float32, layout=layout)
    for step in range(steps):
        place, phase = step % 2, (step // 2) & 1
        mbarrier.wait(ready.index(place), phase=phase)
        total += tiles.index(place).load(layout)
        mbarrier.arrive(empty.index(place), count=1)
    rows = row + gl.arange(0, ROWS, layout=gl.SliceLayout(1, layout))
    gl.store(y_ptr + rows, gl.sum(total, axis=1))


@gluon.jit
def _sums_kernel(
    source,
    y_ptr,
    steps,
    LOAD: gl.constexpr,
    PAIRS: gl.constexpr,
    ROWS: gl.constexpr,
    COLS: gl.constexpr,
):
    layout: gl.constexpr = gl.BlockedLayout([1, 4], [4, 8], [4, 1], [1, 0])
    tiles = gl.allocate_shared_memory(source.dtype, [2, ROWS, COLS], source.layout)
    ready = gl.allocate_shared_memory(gl.int64, [2, 1], mbarrier.MBarrierLayout())
    empty = gl.allocate_shared_memory(gl.int64, [2, 1], mbarrier.MBarrierLayout())
    for place in gl.static_range(2):
        mbarrier.init(ready.index(place), count=1)
        mbarrier.init(empty.index(place), count=1)
    row = gl.program_id(0) * ROWS
    # a tuple that holds a layout cannot be a variable of the kernel
    if PAIRS:
        gl.warp_specialize(
            [
                (_add, (tiles, ready, empty, y_ptr, row, steps, ROWS, COLS, layout)),
                (_load, (source, tiles, ready, empty, row, steps, LOAD, COLS)),
            ],
            [1],
            [24],
        )
    else:
        # before triton 3.6
        gl.warp_specialize(
            (tiles, ready, empty, y_ptr, row, steps, ROWS, COLS, layout),
            _add,
            (source, tiles, ready, empty, row, steps, LOAD, COLS),
            [_load],
            [1],
            [24],
        )


WRITTEN = {
    "as-3.5": (_by_the_old_name, False),
    "as-3.6": (_by_the_old_name, True),
    "as-3.9": (_by_the_new_name, True),
}


def launch(x, written):
    m, n = x.shape
    y = torch.empty(m, dtype=torch.float32, device=x.device)
    layout = gl.NVMMASharedLayout.get_default_for([ROWS, COLS], gl.float32)
    source = tensor_descriptor().from_tensor(x, [ROWS, COLS], layout)
    steps = triton.cdiv(n, COLS)
    # the launch sets the registers of the warps that add, and those left to a loading warp
    _sums_kernel[(m // ROWS,)](
        source, y, steps, *WRITTEN[written], ROWS=ROWS, COLS=COLS, num_warps=4, maxnreg=128
    )
    return {"y": y}


def reference(x, written):
    return {"y": x.double().sum(1)}


def inputs(case, device, generator):
    m, n = case.shape["M"], case.shape["N"]
    x = torch.randn(m, n, generator=generator, device=generator.device)
    return {"x": x.to(device), "written": case.id}


SHAPE = {"M": 32, "N": 160}
KERNEL = kernel_of(
    globals(),
    cases=(
        Case("as-3.5", "fp32", SHAPE, targets=TARGETS),
        Case("as-3.6", "fp32", SHAPE, targets=TARGETS, requires=("gluon-pairs",)),
        Case(
            "as-3.9", "fp32", SHAPE, targets=TARGETS, requires=("gluon-pairs", "gluon-async-load")
        ),
    ),
    # measured in the lane emulate, three seeds: 8.4e-8
    tolerance={"fp32": 4e-7},
    uses=("gluon",),
)
