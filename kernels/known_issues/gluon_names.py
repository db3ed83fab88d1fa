"""Gluon: one small copy for each name and argument that a release of Triton renamed or took away."""

import torch

from crosswarp.kernels.case import Case, kernel_of
from crosswarp.kernels.gluon_import import gl, gluon, language, warp_size

hopper, blackwell = language("nvidia.hopper"), language("nvidia.blackwell")
mbarrier = hopper.mbarrier
amd, cdna4 = language("amd"), language("amd.cdna4")
SIZE = 128


@gluon.jit
def _at(layout: gl.constexpr, SIZE: gl.constexpr):
    rows = gl.arange(0, SIZE, layout=gl.SliceLayout(1, layout))
    return rows[:, None] * SIZE + gl.arange(0, SIZE, layout=gl.SliceLayout(0, layout))[None, :]


@gluon.jit
def _through(x_ptr, y_ptr, layout: gl.constexpr, shared: gl.constexpr, SIZE: gl.constexpr):
    tile = gl.allocate_shared_memory(gl.float32, [SIZE, SIZE], shared)
    tile.store(gl.load(x_ptr + _at(layout, SIZE)))
    gl.store(y_ptr + _at(layout, SIZE), tile.load(layout))


@gluon.jit
def thread_barrier(x_ptr, y_ptr, SIZE: gl.constexpr, WARP: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, 4], [WARP // 16, 16], [4, 1], [1, 0])
    x = gl.load(x_ptr + _at(layout, SIZE))
    gl.thread_barrier()
    gl.store(y_ptr + _at(layout, SIZE), x)


@gluon.jit
def tuple_value(x_ptr, y_ptr, SIZE: gl.constexpr, WARP: gl.constexpr):
    sizes: gl.constexpr = SIZE.value
    layout: gl.constexpr = gl.BlockedLayout([1, 4], [WARP // 16, 16], [4, 1], [1, 0])
    gl.store(y_ptr + _at(layout, sizes[0]), gl.load(x_ptr + _at(layout, sizes[0])))


@gluon.jit
def blocked_ctas(x_ptr, y_ptr, SIZE: gl.constexpr, WARP: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout(
        [1, 4], [WARP // 16, 16], [4, 1], [1, 0], [1, 1], [1, 1], [1, 0]
    )
    gl.store(y_ptr + _at(layout, SIZE), gl.load(x_ptr + _at(layout, SIZE)))


@gluon.jit
def blocked_cta_order(x_ptr, y_ptr, SIZE: gl.constexpr, WARP: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout(
        [1, 4], [WARP // 16, 16], [4, 1], [1, 0],
        ctas_per_cga=[1, 1], cta_split_num=[1, 1], cta_order=[1, 0],
    )  # fmt: skip
    gl.store(y_ptr + _at(layout, SIZE), gl.load(x_ptr + _at(layout, SIZE)))


@gluon.jit
def swizzled_ctas(x_ptr, y_ptr, SIZE: gl.constexpr, WARP: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, 4], [WARP // 16, 16], [4, 1], [1, 0])
    shared: gl.constexpr = gl.SwizzledSharedLayout(4, 1, 4, order=[1, 0], ctas_per_cga=[1, 1])
    _through(x_ptr, y_ptr, layout, shared, SIZE)


@gluon.jit
def default_ctas(x_ptr, y_ptr, SIZE: gl.constexpr, WARP: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, 4], [WARP // 16, 16], [4, 1], [1, 0])
    shared: gl.constexpr = gl.NVMMASharedLayout.get_default_for(
        [SIZE, SIZE], gl.float32, cta_split_num=None
    )
    _through(x_ptr, y_ptr, layout, shared, SIZE)


@gluon.jit
def barrier_ctas(x_ptr, y_ptr, SIZE: gl.constexpr, WARP: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, 4], [WARP // 16, 16], [4, 1], [1, 0])
    waiting = gl.allocate_shared_memory(
        gl.int64, [1], mbarrier.MBarrierLayout(ctas_per_cga=1, cta_split_num=1)
    )
    mbarrier.init(waiting, count=1)
    mbarrier.arrive(waiting, count=1)
    mbarrier.wait(waiting, phase=0)
    gl.store(y_ptr + _at(layout, SIZE), gl.load(x_ptr + _at(layout, SIZE)))


@gluon.jit
def expect_bytes(x_ptr, y_ptr, SIZE: gl.constexpr, WARP: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, 4], [WARP // 16, 16], [4, 1], [1, 0])
    waiting = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(waiting, count=1)
    mbarrier.expect(waiting, bytes=0)
    mbarrier.wait(waiting, phase=0)
    gl.store(y_ptr + _at(layout, SIZE), gl.load(x_ptr + _at(layout, SIZE)))


@gluon.jit
def arrive_by_place(x_ptr, y_ptr, SIZE: gl.constexpr, WARP: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, 4], [WARP // 16, 16], [4, 1], [1, 0])
    waiting = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(waiting, count=1)
    mbarrier.arrive(waiting, 1, True)
    mbarrier.wait(waiting, phase=0)
    gl.store(y_ptr + _at(layout, SIZE), gl.load(x_ptr + _at(layout, SIZE)))


@gluon.jit
def reinterpret(x_ptr, y_ptr, SIZE: gl.constexpr, WARP: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, 4], [WARP // 16, 16], [4, 1], [1, 0])
    shared: gl.constexpr = gl.SwizzledSharedLayout(4, 1, 4, order=[1, 0])
    tile = gl.allocate_shared_memory(gl.float32, [SIZE, SIZE], shared)
    tile.store(gl.load(x_ptr + _at(layout, SIZE)))
    bits = tile._reinterpret(gl.int32, [SIZE, SIZE], shared).load(layout)
    gl.store(y_ptr + _at(layout, SIZE), bits.to(gl.float32, bitcast=True))


@gluon.jit
def boundary_check(x_ptr, y_ptr, SIZE: gl.constexpr, WARP: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, 4], [WARP // 16, 16], [4, 1], [1, 0])
    x = gl.load(x_ptr + _at(layout, SIZE), boundary_check=(), padding_option="")
    gl.store(y_ptr + _at(layout, SIZE), x, boundary_check=())


@gluon.jit
def cache_by_place(x_ptr, y_ptr, SIZE: gl.constexpr, WARP: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, 4], [WARP // 16, 16], [4, 1], [1, 0])
    x = gl.load(x_ptr + _at(layout, SIZE), None, None, (), "", ".cg")
    gl.store(y_ptr + _at(layout, SIZE), x, None, (), ".cs")


@gluon.jit
def _through_tensor_memory(x_ptr, y_ptr, memory: gl.constexpr, SIZE: gl.constexpr):
    registers: gl.constexpr = gl.BlockedLayout([1, SIZE], [32, 1], [4, 1], [0, 1])
    tile = blackwell.allocate_tensor_memory(gl.float32, [SIZE, SIZE], memory)
    tile.store(gl.load(x_ptr + _at(registers, SIZE)))
    gl.store(y_ptr + _at(registers, SIZE), tile.load(registers))


@gluon.jit
def unpacked(x_ptr, y_ptr, SIZE: gl.constexpr, WARP: gl.constexpr):
    memory: gl.constexpr = blackwell.TensorMemoryLayout([SIZE, SIZE], unpacked=True)
    _through_tensor_memory(x_ptr, y_ptr, memory, SIZE)


@gluon.jit
def memory_ctas(x_ptr, y_ptr, SIZE: gl.constexpr, WARP: gl.constexpr):
    memory: gl.constexpr = blackwell.TensorMemoryLayout(
        [SIZE, SIZE], col_stride=1, cta_split_num=[1, 1]
    )
    _through_tensor_memory(x_ptr, y_ptr, memory, SIZE)


@gluon.jit
def registers_32x32b(x_ptr, y_ptr, SIZE: gl.constexpr, WARP: gl.constexpr):
    registers: gl.constexpr = blackwell.get_tmem_32x32b_reg_layout(SIZE, SIZE, [SIZE, SIZE], 4)
    gl.store(y_ptr + _at(registers, SIZE), gl.load(x_ptr + _at(registers, SIZE)))


@gluon.jit
def block_bases(x_ptr, y_ptr, SIZE: gl.constexpr, WARP: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, 4], [WARP // 16, 16], [4, 1], [1, 0])
    shared: gl.constexpr = gl.PaddedSharedLayout(
        [[SIZE, 4]],
        offset_bases=[
            [0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [0, 64],
            [1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0], [64, 0],
        ],
        block_bases=[],
        shape=[SIZE, SIZE],
    )  # fmt: skip
    _through(x_ptr, y_ptr, layout, shared, SIZE)


@gluon.jit
def element_type(x_ptr, y_ptr, SIZE: gl.constexpr, WARP: gl.constexpr):
    layout: gl.constexpr = amd.AMDMFMALayout(
        version=3, instr_shape=[16, 16], transposed=True, warps_per_cta=[2, 2], elem_type=gl.float32
    )
    gl.store(y_ptr + _at(layout, SIZE), gl.load(x_ptr + _at(layout, SIZE)))


@gluon.jit
def warps_per_cta(x_ptr, y_ptr, SIZE: gl.constexpr, WARP: gl.constexpr):
    layout: gl.constexpr = amd.AMDWMMALayout(version=1, transposed=True, warps_per_cta=[2, 2])
    gl.store(y_ptr + _at(layout, SIZE), gl.load(x_ptr + _at(layout, SIZE)))


@gluon.jit
def async_wait(x_ptr, y_ptr, SIZE: gl.constexpr, WARP: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, 4], [WARP // 16, 16], [4, 1], [1, 0])
    x = gl.load(x_ptr + _at(layout, SIZE))
    cdna4.async_copy.async_wait(0)
    gl.store(y_ptr + _at(layout, SIZE), x)


def _float2():
    from triton.experimental.gluon.language.nvidia.blackwell import float2

    return float2


def _tdm():
    import triton.experimental.gluon.language.amd.gfx1250.tdm as tdm

    return tdm


NVIDIA, HOPPER, BLACKWELL = ("sm_*",), ("sm_90", "sm_100"), ("sm_100",)
MI300, MI350, RDNA3 = ("gfx942",), ("gfx950",), ("gfx1100",)
ANY = ("sm_*", "gfx942", "gfx950")
# Case -> the function that shows it, the targets, and its other requirements.
SHOWN = {
    "thread-barrier": (thread_barrier, ANY, ()),
    "tuple-value": (tuple_value, ANY, ()),
    "blocked-ctas": (blocked_ctas, ANY, ()),
    "blocked-cta-order": (blocked_cta_order, ANY, ()),
    "swizzled-ctas": (swizzled_ctas, ANY, ()),
    "default-ctas": (default_ctas, HOPPER, ()),
    "barrier-ctas": (barrier_ctas, HOPPER, ()),
    "expect-bytes": (expect_bytes, HOPPER, ()),
    "arrive-by-place": (arrive_by_place, HOPPER, ()),
    "reinterpret": (reinterpret, ANY, ()),
    "boundary-check": (boundary_check, ANY, ()),
    "cache-by-place": (cache_by_place, NVIDIA, ()),
    "unpacked": (unpacked, BLACKWELL, ()),
    "memory-ctas": (memory_ctas, BLACKWELL, ("gluon-column-stride",)),
    "registers-32x32b": (registers_32x32b, BLACKWELL, ()),
    "block-bases": (block_bases, ("sm_*", "gfx950"), ("gluon-of-3.6",)),
    "element-type": (element_type, MI300, ()),
    "warps-per-cta": (warps_per_cta, RDNA3, ("gluon-of-3.6",)),
    "async-wait": (async_wait, MI350, ()),
    "float2": (_float2, BLACKWELL, ("gluon-of-3.6",)),
    "gfx1250-tdm": (_tdm, ANY, ("gluon-of-3.6",)),
}


def launch(x, shown):
    y = torch.empty_like(x)
    kernel = SHOWN[shown][0]
    if shown in ("float2", "gfx1250-tdm"):
        kernel()
        kernel = blocked
    size = (SIZE,) if shown == "tuple-value" else SIZE
    kernel[(1,)](x, y, SIZE=size, WARP=warp_size(), num_warps=4)
    return {"y": y}


@gluon.jit
def blocked(x_ptr, y_ptr, SIZE: gl.constexpr, WARP: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, 4], [WARP // 16, 16], [4, 1], [1, 0])
    gl.store(y_ptr + _at(layout, SIZE), gl.load(x_ptr + _at(layout, SIZE)))


def reference(x, shown):
    return {"y": x.double()}


def inputs(case, device, generator):
    x = torch.randn(SIZE, SIZE, generator=generator, device=generator.device)
    return {"x": x.to(device), "shown": case.id}


KERNEL = kernel_of(
    globals(),
    cases=tuple(
        Case(
            shown,
            "fp32",
            {"N": SIZE},
            lanes=("compile", "emulate", "device"),
            targets=targets,
            requires=requires,
        )
        for shown, (_, targets, requires) in SHOWN.items()
    ),
    # it copies
    tolerance={"fp32": 0.0},
    uses=("gluon",),
)
