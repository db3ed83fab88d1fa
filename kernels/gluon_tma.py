"""Gluon: twice a matrix, whose tiles come and go by TMA with descriptors that the host makes."""

import torch
import triton

from crosswarp.kernels.case import Case, kernel_of
from crosswarp.kernels.gluon_import import gl, gluon, language, tensor_descriptor

hopper = language("nvidia.hopper")
tma, mbarrier = hopper.tma, hopper.mbarrier
TARGETS = ("sm_90", "sm_100")
TILE = [32, 64]


@gluon.jit
def _loads_by_the_old_name(descriptor, at, arrived, tile):
    tma.async_copy_global_to_shared(descriptor, at, arrived, tile)


@gluon.jit
def _stores_by_the_old_name(descriptor, at, tile):
    tma.async_copy_shared_to_global(descriptor, at, tile)


# triton 3.8 names them anew, and 3.9 refuses the old names
@gluon.jit
def _loads_by_the_new_name(descriptor, at, arrived, tile):
    tma.async_load(descriptor, at, arrived, tile)


@gluon.jit
def _stores_by_the_new_name(descriptor, at, tile):
    tma.async_store(descriptor, at, tile)


@gluon.jit
def _double_kernel(
    source, target, LOAD: gl.constexpr, STORE: gl.constexpr, ROWS: gl.constexpr, COLS: gl.constexpr
):
    layout: gl.constexpr = gl.BlockedLayout([1, 4], [4, 8], [4, 1], [1, 0])
    tile = gl.allocate_shared_memory(source.dtype, [ROWS, COLS], source.layout)
    arrived = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(arrived, count=1)
    row, col = gl.program_id(0) * ROWS, gl.program_id(1) * COLS
    mbarrier.expect(arrived, source.block_type.nbytes)
    LOAD(source, [row, col], arrived, tile)
    mbarrier.wait(arrived, phase=0)
    mbarrier.invalidate(arrived)
    x = tile.load(layout)
    tile.store(x + x)
    hopper.fence_async_shared()
    STORE(target, [row, col], tile)
    tma.store_wait(pendings=0)


NAMES = {
    "old": (_loads_by_the_old_name, _stores_by_the_old_name),
    "new": (_loads_by_the_new_name, _stores_by_the_new_name),
}


def launch(x, names):
    y = torch.empty_like(x)
    dtype = gl.float16 if x.dtype == torch.float16 else gl.float32
    layout = gl.NVMMASharedLayout.get_default_for(TILE, dtype)
    descriptors = [tensor_descriptor().from_tensor(tensor, TILE, layout) for tensor in (x, y)]
    grid = (triton.cdiv(x.shape[0], TILE[0]), triton.cdiv(x.shape[1], TILE[1]))
    _double_kernel[grid](*descriptors, *NAMES[names], ROWS=TILE[0], COLS=TILE[1], num_warps=4)
    return {"y": y}


def reference(x, names):
    return {"y": x.double() * 2}


def inputs(case, device, generator):
    x = torch.randn(case.shape["M"], case.shape["N"], generator=generator, device=generator.device)
    return {"x": x.to(device, case.torch_dtype), "names": case.id.partition("-")[0]}


NEW = ("gluon-async-load",)
KERNEL = kernel_of(
    globals(),
    cases=(
        Case("old-fp16-64x128", "fp16", {"M": 64, "N": 128}, targets=TARGETS),
        Case("old-fp32-70x72", "fp32", {"M": 70, "N": 72}, targets=TARGETS),
        Case("new-fp16-64x128", "fp16", {"M": 64, "N": 128}, targets=TARGETS, requires=NEW),
        Case("new-fp32-70x72", "fp32", {"M": 70, "N": 72}, targets=TARGETS, requires=NEW),
    ),
    # a factor of two rounds nothing
    tolerance={"fp16": 0.0, "fp32": 0.0},
    uses=("gluon",),
)
