"""Gluon: a matmul on Blackwell: tiles by TMA, tcgen05 into tensor memory, read back in the layout it has there."""

import torch

from crosswarp.kernels.case import Case, kernel_of
from crosswarp.kernels.gluon_import import gl, gluon, language, tensor_descriptor

blackwell = language("nvidia.blackwell")
tma, mbarrier = blackwell.tma, blackwell.mbarrier
TARGETS = ("sm_100",)
BM, BN, BK = 128, 64, 64


@gluon.jit
def _by_the_old_name(descriptor, at, arrived, tile):
    tma.async_copy_global_to_shared(descriptor, at, arrived, tile)


# triton 3.8 names it anew, and 3.9 refuses the old name
@gluon.jit
def _by_the_new_name(descriptor, at, arrived, tile):
    tma.async_load(descriptor, at, arrived, tile)


@gluon.jit
def _read_with_a_layout(total, BM: gl.constexpr, BN: gl.constexpr, num_warps: gl.constexpr):
    memory: gl.constexpr = blackwell.TensorMemoryLayout([BM, BN], col_stride=1)
    layout: gl.constexpr = blackwell.get_tmem_reg_layout(gl.float32, (BM, BN), memory, num_warps)
    return total.load(layout)


# from triton 3.8 on a tile of tensor memory knows its layout, and the function that returned it is gone
@gluon.jit
def _read(total, BM: gl.constexpr, BN: gl.constexpr, num_warps: gl.constexpr):
    return total.load()


@gluon.jit
def _tcgen05_kernel(
    left,
    right,
    c_ptr,
    K,
    N,
    LOAD: gl.constexpr,
    READ: gl.constexpr,
    BM: gl.constexpr,
    BN: gl.constexpr,
    BK: gl.constexpr,
    num_warps: gl.constexpr,
):
    a = gl.allocate_shared_memory(left.dtype, [BM, BK], left.layout)
    b = gl.allocate_shared_memory(right.dtype, [BK, BN], right.layout)
    arrived = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    done = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(arrived, count=1)
    mbarrier.init(done, count=1)
    memory: gl.constexpr = blackwell.TensorMemoryLayout([BM, BN], col_stride=1)
    total = blackwell.allocate_tensor_memory(gl.float32, [BM, BN], memory)
    row, col = gl.program_id(0) * BM, gl.program_id(1) * BN
    phase = 0
    first = True
    for start in range(0, K, BK):
        mbarrier.expect(arrived, left.block_type.nbytes + right.block_type.nbytes)
        LOAD(left, [row, start], arrived, a)
        LOAD(right, [start, col], arrived, b)
        mbarrier.wait(arrived, phase=phase)
        blackwell.tcgen05_mma(a, b, total, use_acc=not first)
        blackwell.tcgen05_commit(done)
        mbarrier.wait(done, phase=phase)
        first = False
        phase ^= 1
    mbarrier.invalidate(arrived)
    mbarrier.invalidate(done)
    writing: gl.constexpr = gl.BlockedLayout([1, 4], [2, 16], [num_warps, 1], [1, 0])
    c = gl.convert_layout(READ(total, BM, BN, num_warps), writing)
    rows = row + gl.arange(0, BM, layout=gl.SliceLayout(1, writing))
    cols = col + gl.arange(0, BN, layout=gl.SliceLayout(0, writing))
    gl.store(c_ptr + rows[:, None] * N + cols[None, :], c)


WRITTEN = {
    "as-3.6": (_by_the_old_name, _read_with_a_layout),
    "as-3.9": (_by_the_new_name, _read),
}


def launch(a, b, written):
    (m, k), n = a.shape, b.shape[1]
    c = torch.empty((m, n), dtype=torch.float32, device=a.device)
    descriptors = [
        tensor_descriptor().from_tensor(
            tensor, tile, gl.NVMMASharedLayout.get_default_for(tile, gl.float16)
        )
        for tensor, tile in ((a, [BM, BK]), (b, [BK, BN]))
    ]
    _tcgen05_kernel[(m // BM, n // BN)](
        *descriptors, c, k, n, *WRITTEN[written], BM=BM, BN=BN, BK=BK, num_warps=4
    )
    return {"c": c}


def reference(a, b, written):
    return {"c": a.double() @ b.double()}


def inputs(case, device, generator):
    m, n, k = (case.shape[name] for name in "MNK")

    def normal(*size):
        made = torch.randn(*size, generator=generator, device=generator.device)
        return made.to(device, case.torch_dtype)

    return {"a": normal(m, k), "b": normal(k, n), "written": case.id}


SHAPE = {"M": 128, "N": 64, "K": 128}
KERNEL = kernel_of(
    globals(),
    cases=(
        Case("as-3.6", "fp16", SHAPE, targets=TARGETS),
        Case("as-3.9", "fp16", SHAPE, targets=TARGETS, requires=("gluon-async-load",)),
    ),
    # measured in the lane emulate, three seeds: 8.6e-8
    tolerance={"fp16": 4e-7},
    uses=("gluon", "gluon-column-stride", "dot"),
)
