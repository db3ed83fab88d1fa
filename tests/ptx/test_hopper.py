"""wgmma, mbarrier, TMA, clusters: whole kernels against numpy; exact numbers, so that sums have one value."""

import ml_dtypes
import numpy as np
import pytest
from running import ON_DEVICE, execute, on_machine_only

from crosswarp.matrix.cell.machines import ptx

_HEAD = """.version 8.4
.target sm_90a
.address_size 64
.extern .shared .align 1024 .b8 room[];
.visible .entry test({parameters})
.reqntid {threads}{cluster}
{{
.reg .pred %p<9>; .reg .b16 %h<20>; .reg .b32 %r<40>; .reg .b64 %d<20>;
mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; mov.u32 %r2, room; setp.eq.u32 %p0, %r0, 0;
{body}
ret;
}}
"""


def kernel(
    body, threads=128, parameters=".param .u64 p0, .param .u64 p1, .param .u64 p2", cluster=""
):
    return _HEAD.format(body=body, threads=threads, parameters=parameters, cluster=cluster)


def _wait(barrier, parity, label):
    return (
        f"{{\n.reg .pred %w;\n{label}:\nmbarrier.try_wait.parity.shared::cta.b64 %w, [{barrier}], {parity};\n"
        f"@!%w bra {label};\n}}\n"
    )


_KINDS = {
    "f16": (np.float16, 16), "bf16": (ml_dtypes.bfloat16, 16), "tf32": (np.float32, 8),
    "e4m3": (ml_dtypes.float8_e4m3fn, 32), "e5m2": (ml_dtypes.float8_e5m2, 32), "s8": (np.int8, 32),
}  # fmt: skip
_MODES = {128: 1, 64: 2, 32: 3}


def _tile(matrix, span):
    """A matrix (rows, depth) as it lies in shared memory, K-major, swizzled: 8 rows of `span` bytes an atom."""
    raw = np.ascontiguousarray(matrix).view(np.uint8).reshape(matrix.shape[0], -1)
    rows, nbytes = raw.shape
    assert nbytes <= span
    room = np.zeros(rows * span, np.uint8)
    for row in range(rows):
        for chunk in range(nbytes // 16):
            swizzled = chunk ^ (row % 8 * span // 128 % (span // 16))
            at = row * span + 16 * swizzled
            room[at : at + 16] = raw[row, 16 * chunk : 16 * chunk + 16]
    return room


def _cores(matrix):
    """A matrix (rows, 32 bytes) as it lies in shared memory without a swizzle: pieces of 8 rows of 16 bytes."""
    raw = np.ascontiguousarray(matrix).view(np.uint8).reshape(-1, 8, 2, 16)
    return np.ascontiguousarray(raw.transpose(0, 2, 1, 3)).reshape(-1)


def _descriptor(mode, stride, leading=16):
    """The upper words of a descriptor: leading offset (unused with a swizzle), stride between groups of 8 rows."""
    return mode << 62 | (stride >> 4) << 32 | (leading >> 4) << 16


def _wgmma(count, kind, span, scale=1, in_registers=False, base=0, start=0):
    """A kernel of one wgmma.

    Args:
        span: bytes of the swizzle, and of a row; 0: no swizzle, and rows of 32 bytes.
        base: the descriptors' base offset; start: bytes before A.
    """
    depth = _KINDS[kind][1]
    out = "s32" if kind == "s8" else "f32"
    registers = count // 2
    accumulators = ", ".join(f"%f{i}" for i in range(registers))
    pitch = span or 32
    descriptor = _descriptor(_MODES.get(span, 0), 8 * pitch, 16 if span else 128) | base << 49
    # Everything comes as one block: A, then B; each thread copies its share.
    total = start + (64 + count) * pitch
    lines = [
        f".reg .b32 %f<{registers}>;", "ld.param.u64 %d0, [p0]; ld.param.u64 %d1, [p1]; ld.param.u64 %d2, [p2];",
        "mov.u32 %r3, %r0;", "fill:", "mad.wide.u32 %d3, %r3, 4, %d0; ld.global.b32 %r4, [%d3];",
        "mad.lo.u32 %r5, %r3, 4, %r2; st.shared.b32 [%r5], %r4; add.u32 %r3, %r3, 128;",
        f"setp.lt.u32 %p1, %r3, {total // 4};", "@%p1 bra fill;", "fence.proxy.async.shared::cta;", "bar.sync 0;",
        f"mad.wide.u32 %d4, %r0, {4 * registers}, %d1; mad.wide.u32 %d5, %r0, {4 * registers}, %d2;",
    ]  # fmt: skip
    lines += [f"ld.global.b32 %f{i}, [%d4+{4 * i}];" for i in range(registers)]
    lines += [
        f"add.u32 %r6, %r2, {start}; shr.u32 %r6, %r6, 4; and.b32 %r6, %r6, 16383; cvt.u64.u32 %d6, %r6;",
        f"mov.b64 %d7, {descriptor:#x};",
        f"or.b64 %d8, %d6, %d7; add.u32 %r7, %r2, {start + 64 * pitch}; shr.u32 %r7, %r7, 4; and.b32 %r7, %r7, 16383;",
        "cvt.u64.u32 %d9, %r7; or.b64 %d9, %d9, %d7;",
    ]  # fmt: skip
    left = "%d8"
    if in_registers:
        # A's registers: lane's row and columns as in mma.m16n8k16, a warp for each 16 rows.
        lines += ["ld.param.u64 %d10, [p3]; mad.wide.u32 %d10, %r0, 16, %d10;",
                  "ld.global.v4.b32 {%r10, %r11, %r12, %r13}, [%d10];"]  # fmt: skip
        left = "{%r10, %r11, %r12, %r13}"
    majors = "" if kind not in ("f16", "bf16") else ", 0" if in_registers else ", 0, 0"
    signs = "" if kind == "s8" else ", 1, 1"
    lines += [
        "wgmma.fence.sync.aligned;",
        f"setp.ne.u32 %p2, {scale}, 0;" if scale < 2 else "setp.lt.u32 %p2, %r0, 64;",
        f"wgmma.mma_async.sync.aligned.m64n{count}k{depth}.{out}.{kind}.{kind} {{{accumulators}}}, {left}, %d9, "
        f"%p2{signs}{majors};",
        "wgmma.commit_group.sync.aligned;", "wgmma.wait_group.sync.aligned 0;",
    ]  # fmt: skip
    lines += [f"st.global.b32 [%d5+{4 * i}], %f{i};" for i in range(registers)]
    parameters = ", ".join(f".param .u64 p{n}" for n in range(4 if in_registers else 3))
    return kernel("\n".join(lines), parameters=parameters)


def _accumulators(matrix):
    """(64, N) as the registers of 128 threads: the ISA's figure of D."""
    count = matrix.shape[1]
    found = np.zeros((128, count // 2), matrix.dtype)
    for thread in range(128):
        warp, lane = divmod(thread, 32)
        for register in range(count // 2):
            row = 16 * warp + lane // 4 + 8 * (register // 2 % 2)
            column = 8 * (register // 4) + 2 * (lane % 4) + register % 2
            found[thread, register] = matrix[row, column]
    return found


def _case(kind, count, seed=1):
    dtype, depth = _KINDS[kind]
    random = np.random.default_rng(seed)
    a, b = (random.integers(-8, 9, (rows, depth)).astype(dtype) for rows in (64, count))
    out = np.int32 if kind == "s8" else np.float32
    c = random.integers(-100, 100, (64, count)).astype(out)
    return a, b, c, (a.astype(np.float64) @ b.astype(np.float64).T).astype(out)


@pytest.mark.parametrize("span", [32, 64, 128])
@pytest.mark.parametrize("kind", list(_KINDS))
def test_wgmma_of_shared_memory(kind, span):
    count = 32
    a, b, c, product = _case(kind, count)
    source = np.concatenate([_tile(a, span), _tile(b, span)])
    got = np.zeros((128, count // 2), c.dtype)
    execute(_wgmma(count, kind, span), (1,), [source, _accumulators(c), got], shared=len(source))
    assert np.array_equal(got, _accumulators(product + c))


@pytest.mark.parametrize("count", [8, 16, 128, 256])
def test_wgmma_in_every_width(count):
    a, b, c, product = _case("f16", count)
    source = np.concatenate([_tile(a, 128), _tile(b, 128)])
    got = np.zeros((128, count // 2), c.dtype)
    execute(_wgmma(count, "f16", 128), (1,), [source, _accumulators(c), got], shared=len(source))
    assert np.array_equal(got, _accumulators(product + c))


@pytest.mark.parametrize("base", [1, 3, 7])
@pytest.mark.parametrize("span", [32, 64, 128])
def test_wgmma_of_a_pattern_that_starts_between_boundaries(span, base):
    """PTX ISA, "Matrix Descriptor Format": base offset = (pattern start addr >> 7) & 7."""
    count, start = 16, 128 * base
    a, b, c, product = _case("f16", count)
    source = np.concatenate([np.full(start, 0x55, np.uint8), _tile(a, span), _tile(b, span)])
    got = np.zeros((128, count // 2), c.dtype)
    text = _wgmma(count, "f16", span, base=base, start=start)
    execute(text, (1,), [source, _accumulators(c), got], shared=len(source))
    assert np.array_equal(got, _accumulators(product + c))


@pytest.mark.parametrize("base", [0, 5])
def test_wgmma_without_a_swizzle_whatever_the_base_offset(base):
    """Triton writes these bits for 8 columns, where nothing is swizzled; the ISA gives them no meaning there."""
    a, b, c, product = _case("f16", 8)
    source = np.concatenate([_cores(a), _cores(b)])
    got = np.zeros((128, 4), c.dtype)
    execute(
        _wgmma(8, "f16", 0, base=base), (1,), [source, _accumulators(c), got], shared=len(source)
    )
    assert np.array_equal(got, _accumulators(product + c))


def test_wgmma_without_its_accumulator():
    a, b, c, product = _case("bf16", 16)
    c[:] = np.nan
    source = np.concatenate([_tile(a, 32), _tile(b, 32)])
    got = np.zeros((128, 8), c.dtype)
    execute(
        _wgmma(16, "bf16", 32, scale=0), (1,), [source, _accumulators(c), got], shared=len(source)
    )
    assert np.array_equal(got, _accumulators(product))


def test_wgmma_with_a_in_registers():
    a, b, c, product = _case("f16", 32)
    source = np.concatenate([_tile(np.zeros_like(a), 64), _tile(b, 64)])
    registers = np.zeros((128, 4, 2), np.float16)
    for thread in range(128):
        warp, lane = divmod(thread, 32)
        for register in range(4):
            row = 16 * warp + lane // 4 + 8 * (register % 2)
            column = 2 * (lane % 4) + 8 * (register // 2)
            registers[thread, register] = a[row, column : column + 2]
    got = np.zeros((128, 16), c.dtype)
    text = _wgmma(32, "f16", 64, in_registers=True)
    execute(text, (1,), [source, _accumulators(c), got, registers], shared=len(source))
    assert np.array_equal(got, _accumulators(product + c))


def _copy_kernel(rank, loads, box_bytes, operation=""):
    """Box by TMA to shared memory and out by threads; or the other way."""
    coordinates = ", ".join(f"%r{20 + n}" for n in range(rank))
    lines = ["ld.param.u64 %d1, [p1];"]
    lines += [f"ld.param.u32 %r{20 + n}, [c{n}];" for n in range(rank)]
    lines += ["mov.b64 %d0, p0; cvta.param.u64 %d0, %d0;"]
    words = box_bytes // 4
    if loads:
        lines += [
            f"add.u32 %r3, %r2, {(box_bytes + 1023) // 1024 * 1024};",
            "@%p0 mbarrier.init.shared::cta.b64 [%r3], 1;", "@%p0 fence.mbarrier_init.release.cluster;", "bar.sync 0;",
            f"@%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], {box_bytes};",
            f"@%p0 cp.async.bulk.tensor.{rank}d.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], "
            f"[%d0, {{{coordinates}}}], [%r3];",
            _wait("%r3", 0, "arrived"),
        ]  # fmt: skip
    loop = [
        "mov.u32 %r5, %r0;", "loop:", f"setp.ge.u32 %p1, %r5, {words};", "@%p1 bra done;",
        "mad.lo.u32 %r6, %r5, 4, %r2; mad.wide.u32 %d3, %r5, 4, %d1;",
    ]  # fmt: skip
    if loads:
        loop += ["ld.shared.b32 %r7, [%r6]; st.global.b32 [%d3], %r7;"]
    else:
        loop += ["ld.global.b32 %r7, [%d3]; st.shared.b32 [%r6], %r7;"]
    lines += [*loop, "add.u32 %r5, %r5, 128;", "bra loop;", "done:"]
    if not loads:
        name = f"cp.reduce.async.bulk.tensor.{rank}d.global.shared::cta.{operation}" if operation else (
            f"cp.async.bulk.tensor.{rank}d.global.shared::cta")  # fmt: skip
        lines += [
            "fence.proxy.async.shared::cta;", "bar.sync 0;",
            f"@%p0 {name}.bulk_group [%d0, {{{coordinates}}}], [%r2];",
            "@%p0 cp.async.bulk.commit_group;", "@%p0 cp.async.bulk.wait_group 0;",
        ]  # fmt: skip
    parameters = ".param .align 64 .b8 p0[128], .param .u64 p1" + "".join(
        f", .param .u32 c{n}" for n in range(rank)
    )
    return kernel("\n".join(lines), parameters=parameters)


def _swizzled(box, span):
    """The bytes of a dense box with rows of `span` bytes, as the ISA's figures permute them."""
    raw = np.ascontiguousarray(box).view(np.uint8).reshape(-1)
    found = np.zeros_like(raw)
    for start in range(0, len(raw), 16):
        line = start // 128 % 8
        chunk = start // 16 % 8
        shift = {0: 0, 32: line % 2, 64: line % 4, 128: line}[span]
        at = start // 128 * 128 + 16 * (chunk ^ shift)
        found[at : at + 16] = raw[start : start + 16]
    return found


@pytest.mark.parametrize("span", [0, 32, 64, 128])
@pytest.mark.parametrize("corner", [(0, 0), (16, 3), (40, 10), (8, 1), (0, -2), (-8, 0), (-8, -2)])
def test_tma_loads_boxes_and_fills_with_zeros(span, corner):
    _load_a_box(span, corner)


@on_machine_only
@pytest.mark.parametrize("corner", [(3, 1), (-5, 0)])
def test_tma_refuses_boxes_that_begin_between_16_bytes(corner):
    with pytest.raises(ptx.Unsupported, match="16 bytes"):
        _load_a_box(64, corner)


def _load_a_box(span, corner):
    tensor = np.arange(13 * 48, dtype=np.float16).reshape(13, 48)
    width = span // 2 if span else 24
    height = 8
    box = np.zeros((height, width), np.float16)
    for row in range(height):
        for column in range(width):
            y, x = row + corner[1], column + corner[0]
            if 0 <= y < 13 and 0 <= x < 45:
                box[row, column] = tensor[y, x]
    got = np.zeros(box.nbytes, np.uint8)
    text = _copy_kernel(2, True, box.nbytes)

    def tensor_map(encode, addresses):
        return encode(addresses[4], "f16", (45, 13), (96,), (width, height), span)

    x, y = (value % 2**32 for value in corner)
    # The tensor itself is no argument of the kernel: it stands behind them for its address.
    _execute_with(text, [tensor_map, got, x, y], tensor, box.nbytes + 2048)
    assert np.array_equal(got, _swizzled(box, span))


def _execute_with(text, arguments, tensor, shared):
    """Arguments, and an array that only the tensor map knows."""
    text = text.replace(".param .u32 c1)", ".param .u32 c1, .param .u64 tensor)")
    text = text.replace(".param .u32 c2)", ".param .u32 c2, .param .u64 tensor)")
    execute(text, (1,), [*arguments, tensor], shared=shared)


def test_tma_fills_with_nan():
    tensor = np.ones((4, 16), np.float32)
    got = np.zeros((4, 32), np.float32)

    def tensor_map(encode, addresses):
        return encode(addresses[4], "f32", (16, 4), (64,), (32, 4), 0, True)

    _execute_with(
        _copy_kernel(2, True, got.nbytes), [tensor_map, got, 0, 0], tensor, got.nbytes + 2048
    )
    assert (got[:, :16] == 1).all()
    assert np.isnan(got[:, 16:]).all()


def test_tma_of_three_dimensions():
    tensor = np.arange(3 * 5 * 16, dtype=np.float32).reshape(3, 5, 16)
    got = np.zeros((2, 4, 8), np.float32)

    def tensor_map(encode, addresses):
        return encode(addresses[5], "f32", (16, 5, 3), (64, 320), (8, 4, 2))

    text = _copy_kernel(3, True, got.nbytes)
    _execute_with(text, [tensor_map, got, 4, 1, 1], tensor, got.nbytes + 2048)
    assert np.array_equal(got, tensor[1:3, 1:5, 4:12])


@pytest.mark.parametrize("operation", ["", "add"])
def test_tma_stores_what_is_inside(operation):
    tensor = np.full((10, 16), 100, np.float32)
    box = np.arange(64, dtype=np.float32).reshape(4, 16)
    expected = tensor.copy()
    expected[8:10, 4:16] = box[:2, :12] + (100 if operation else 0)

    def tensor_map(encode, addresses):
        return encode(addresses[4], "f32", (16, 10), (64,), (16, 4))

    text = _copy_kernel(2, False, box.nbytes, operation)
    _execute_with(text, [tensor_map, box, 4, 8], tensor, box.nbytes + 2048)
    assert np.array_equal(tensor, expected)


@pytest.mark.parametrize(
    ("version", "stride"),
    [
        ("8.6", 64),
        pytest.param(
            "8.4", 4, marks=pytest.mark.skipif(ON_DEVICE, reason="that ptxas is not at hand")
        ),
    ],
)
def test_a_tensor_map_made_on_the_device(version, stride):
    body = (
        "ld.param.u64 %d0, [p0]; ld.param.u64 %d1, [p1]; ld.param.u64 %d2, [p2];\n"
        "mov.u32 %r9, 0; setp.lt.u32 %p1, %r0, 32;\nmad.lo.u32 %r10, %r0, 4, %r2;\n@%p1 st.shared.b32 [%r10], %r9;\n"
        "bar.sync 0;\n@!%p0 bra made;\ncvt.u64.u32 %d3, %r2;\n"
        "mov.u32 %r11, 16; mov.u32 %r12, 4; mov.u32 %r13, 32; mov.u32 %r14, 10; mov.u32 %r15, 1; "
        f"mov.b64 %d4, {stride};\n"
    )

    def replace(field, operands, bits=32):
        return f"tensormap.replace.tile.{field}.shared::cta.b1024.b{bits} [%d3], {operands};\n"

    body += replace("global_address", "%d0", 64) + replace("rank", "0x1")
    body += replace("box_dim", "0x0, %r11") + replace("box_dim", "0x1, %r12")
    body += replace("global_dim", "0x0, %r13") + replace("global_dim", "0x1, %r14")
    body += replace("global_stride", "0x0, %d4", 64)
    body += replace("element_stride", "0x0, %r15") + replace("element_stride", "0x1, %r15")
    body += replace("elemtype", "0x6") + replace("interleave_layout", "0x0")
    body += replace("swizzle_mode", "0x0") + replace("fill_mode", "0x0")
    body += (
        "made:\nbar.sync 0;\n@!%p1 bra published;\ncvt.u64.u32 %d3, %r2;\n"
        "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%d2], [%r2], 0x80;\n"
        "published:\nbar.sync 0;\nfence.proxy.tensormap::generic.acquire.gpu [%d2], 0x80;\n"
        "add.u32 %r3, %r2, 1024;\n@%p0 mbarrier.init.shared::cta.b64 [%r3], 1;\nbar.sync 0;\n"
        "@%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], 128;\nmov.u32 %r20, 16; mov.u32 %r21, 2;\n"
        "@%p0 cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%d2, {%r20, %r21}], "
        "[%r3];\n"
    )
    body += _wait("%r3", 0, "arrived")
    body += "@%p1 ld.shared.b32 %r7, [%r10];\nmad.wide.u32 %d5, %r0, 4, %d1;\n@%p1 st.global.b32 [%d5], %r7;"
    tensor = np.arange(320, dtype=np.float16).reshape(10, 32)
    got, scratch = np.zeros((4, 16), np.float16), np.zeros(192, np.uint8)
    start = -scratch.ctypes.data % 64
    text = kernel(body).replace(".version 8.4", f".version {version}")
    execute(text, (1,), [tensor, got, scratch[start : start + 128]], shared=2048)
    assert np.array_equal(got, tensor[2:6, 16:32])


def test_mbarriers_count_arrivals_and_phases():
    # 128 arrivals are one phase; each thread waits for two of them.
    body = (
        "ld.param.u64 %d1, [p1];\n@%p0 mbarrier.init.shared::cta.b64 [%r2], 128;\nmov.u32 %r9, 0;\n"
        "@%p0 st.shared.b32 [%r2+8], %r9;\nbar.sync 0;\natom.shared.add.u32 %r5, [%r2+8], 1;\n"
        "mbarrier.arrive.shared::cta.b64 %d2, [%r2];\n" + _wait("%r2", 0, "first")
        + "ld.shared.b32 %r6, [%r2+8];\nmbarrier.arrive.shared::cta.b64 %d3, [%r2];\n" + _wait("%r2", 1, "second")
        + "atom.shared.add.u32 %r5, [%r2+8], 1;\nmad.wide.u32 %d5, %r0, 4, %d1;\nst.global.b32 [%d5], %r6;"
    )  # fmt: skip
    got = np.zeros(128, np.uint32)
    execute(kernel(body), (1,), [got, got, got], shared=64)
    assert (got == 128).all()


def _after_copies(arrive, count, waits=True):
    """Each of 128 threads copies 16 bytes, has an mbarrier count them, waits, and reads its neighbour's copy."""
    return kernel(
        "ld.param.u64 %d0, [p0]; ld.param.u64 %d1, [p1];\nadd.u32 %r3, %r2, 2048;\n"
        f"@%p0 mbarrier.init.shared::cta.b64 [%r3], {count};\nmov.u32 %r9, 0;\nbar.sync 0;\n"
        "mad.lo.u32 %r4, %r0, 16, %r2; mad.wide.u32 %d2, %r0, 16, %d0;\n"
        f"cp.async.cg.shared.global [%r4], [%d2], 16;\n{arrive}\n"
        + (_wait("%r3", 0, "copied") if waits else "")
        + "xor.b32 %r5, %r0, 1; mad.lo.u32 %r5, %r5, 16, %r2; mad.wide.u32 %d3, %r0, 16, %d1;\n"
        "ld.shared.v4.b32 {%r10, %r11, %r12, %r13}, [%r5]; st.global.v4.b32 [%d3], {%r10, %r11, %r12, %r13};"
    )


_NOINC = "cp.async.mbarrier.arrive.noinc.shared.b64 [%r3];"
# It adds an arrival that the phase has to wait for, so that the thread's own is one more.
_INC = (
    "cp.async.mbarrier.arrive.shared::cta.b64 [%r3];\nmbarrier.arrive.shared::cta.b64 %d5, [%r3];"
)


@pytest.mark.parametrize("arrive", [_NOINC, _INC], ids=["noinc", "inc"])
def test_an_mbarrier_counts_copies_that_are_done(arrive):
    x, y = np.arange(512, dtype=np.uint32), np.zeros(512, np.uint32)
    execute(_after_copies(arrive, 128), (1,), [x, y, y], shared=4096)
    assert np.array_equal(y.reshape(64, 2, 4), x.reshape(64, 2, 4)[:, ::-1])


@on_machine_only
def test_copies_are_as_late_as_the_mbarrier_lets_them():
    x, y = np.arange(1, 513, dtype=np.uint32), np.zeros(512, np.uint32)
    execute(_after_copies(_NOINC, 128, waits=False), (1,), [x, y, y], shared=4096)
    assert not np.isin(y, x).any()


@on_machine_only
@pytest.mark.parametrize(
    ("arrive", "count"),
    [
        (_NOINC, 129),
        # Its own arrival cancels what it adds: nobody has arrived of those that the object was made for.
        ("cp.async.mbarrier.arrive.shared.b64 [%r3];", 128),
    ],
)
def test_copies_alone_end_no_phase_that_waits_for_more(arrive, count):
    x = np.arange(512, dtype=np.uint32)
    with pytest.raises(ptx.Deadlock):
        execute(_after_copies(arrive, count), (1,), [x, x, x], shared=4096)


@on_machine_only
def test_a_copy_that_is_started_later_is_not_waited_for():
    later = _NOINC + (
        "\nadd.u32 %r6, %r4, 0; cp.async.cg.shared.global [%r6], [%d4], 16;\ncp.async.commit_group;"
    )
    # The later copy overwrites the first one's data, and nobody waits for it.
    text = _after_copies(later, 128).replace("mov.u32 %r9, 0;", "mad.wide.u32 %d4, %r0, 16, %d1;")
    x, y = np.arange(1, 513, dtype=np.uint32), np.zeros(512, np.uint32)
    execute(text, (1,), [x, y, y], shared=4096)
    assert np.array_equal(y.reshape(64, 2, 4), x.reshape(64, 2, 4)[:, ::-1])


def test_a_cluster_reads_its_neighbour_s_memory():
    body = (
        "ld.param.u64 %d1, [p1];\nmov.u32 %r3, %cluster_ctarank; mad.lo.u32 %r4, %r1, 1000, %r0;\n"
        "mad.lo.u32 %r5, %r0, 4, %r2; st.shared.b32 [%r5], %r4;\n"
        "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n"
        "xor.b32 %r6, %r3, 1; mapa.shared::cluster.u32 %r7, %r5, %r6; ld.shared::cluster.b32 %r8, [%r7];\n"
        "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n"
        "mad.lo.u32 %r9, %r1, 128, %r0; mad.wide.u32 %d2, %r9, 4, %d1; st.global.b32 [%d2], %r8;"
    )
    got = np.zeros((6, 128), np.uint32)
    text = kernel(body, cluster="\n.reqnctapercluster 2, 1, 1")
    execute(text, (6,), [got, got, got], shared=512)
    assert np.array_equal(got, (np.arange(6)[:, None] ^ 1) * 1000 + np.arange(128))


@on_machine_only
@pytest.mark.parametrize(
    "access", ["ld.shared.b32 %r8, [%r7];", "st.shared.b32 [%r7], %r8;", "atom.shared.add.u32 %r8, [%r7], 1;"]
)  # fmt: skip
def test_shared_alone_is_the_block_s_own(access):
    body = (
        "mad.lo.u32 %r5, %r0, 4, %r2; mov.u32 %r3, %cluster_ctarank; {rank}\n"
        f"mapa.shared::cluster.u32 %r7, %r5, %r6; mov.u32 %r8, 1; {access}"
    )
    got = np.zeros((2, 128), np.uint32)

    def run(rank):
        text = kernel(body.replace("{rank}", rank), cluster="\n.reqnctapercluster 2, 1, 1")
        execute(text, (2,), [got, got, got], shared=512)

    # mapped onto itself it stays where it is
    run("mov.u32 %r6, %r3;")
    with pytest.raises(
        ptx.Fault, match="out-of-window.* by 256 threads, first, at shared address 0x1000000"
    ):
        run("xor.b32 %r6, %r3, 1;")


def test_a_copy_is_multicast_to_a_cluster():
    body = (
        "ld.param.u64 %d1, [p1]; mov.b64 %d0, p0; cvta.param.u64 %d0, %d0; add.u32 %r3, %r2, 1024;\n"
        "@%p0 mbarrier.init.shared::cta.b64 [%r3], 1;\nfence.mbarrier_init.release.cluster;\n"
        "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n"
        "@%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], 512;\nmov.u32 %r4, %cluster_ctarank;\n"
        "setp.eq.and.u32 %p2, %r4, 0, %p0;\nmov.u32 %r20, 0; mov.b16 %h1, 3;\n"
        "@%p2 cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r2], "
        "[%d0, {%r20}], [%r3], %h1;\n" + _wait("%r3", 0, "arrived")
        + "mad.lo.u32 %r5, %r0, 4, %r2; ld.shared.b32 %r6, [%r5];\nmad.lo.u32 %r9, %r1, 128, %r0;\n"
        "mad.wide.u32 %d2, %r9, 4, %d1; st.global.b32 [%d2], %r6;\n"
        "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;"
    )  # fmt: skip
    tensor, got = np.arange(128, dtype=np.uint32), np.zeros((2, 128), np.uint32)

    def tensor_map(encode, addresses):
        return encode(addresses[2], "u32", (128,), (), (128,))

    parameters = ".param .align 64 .b8 p0[128], .param .u64 p1, .param .u64 p2"
    text = kernel(body, parameters=parameters, cluster="\n.reqnctapercluster 2, 1, 1")
    execute(text, (2,), [tensor_map, got, tensor], shared=2048)
    assert np.array_equal(got, np.stack([tensor, tensor]))


@on_machine_only
class TestMissingWaits:
    def test_what_is_not_waited_for_has_not_come(self):
        tensor, got = np.ones((4, 16), np.float32), np.zeros((4, 16), np.float32)

        def tensor_map(encode, addresses):
            return encode(addresses[4], "f32", (16, 4), (64,), (16, 4))

        text = _copy_kernel(2, True, got.nbytes)
        begin, end = (
            text.index("{\n.reg .pred %w"),
            text.index("bra arrived;\n}\n") + len("bra arrived;\n}\n"),
        )
        _execute_with(text[:begin] + text[end:], [tensor_map, got, 0, 0], tensor, 4096)
        assert np.isnan(got).all()

    def test_a_phase_that_nobody_completes_is_a_deadlock(self):
        body = "@%p0 mbarrier.init.shared::cta.b64 [%r2], 129;\nbar.sync 0;\n"
        body += "mbarrier.arrive.shared::cta.b64 %d2, [%r2];\n"
        got = np.zeros(1, np.uint32)
        with pytest.raises(ptx.Deadlock) as caught:
            execute(kernel(body + _wait("%r2", 0, "never")), (1,), [got] * 3, shared=64)
        assert "try_wait" in caught.value.place


@pytest.mark.parametrize(
    "rank, strides, sizes, corners",
    [
        (0, 0, 0, None), (6, 5, 6, None), (2, 0, 2, None), (2, 2, 2, None), (2, 1, 1, None), (2, 1, 3, None),
        (4, 3, 4, ((0, 0), (0, 0))), (4, 2, 2, ((0, 0), (0, 0))),
    ],
)  # fmt: skip
def test_the_sizes_of_a_tensor_map(rank, strides, sizes, corners):
    form = (0, "f16", (4,) * rank, (64,) * strides, (2,) * sizes)
    with pytest.raises(ValueError, match=f"a tensor of rank {rank} takes"):
        ptx.tensor_map(*form, corners=corners)


@pytest.mark.parametrize("rank, corners", [(1, None), (5, None), (4, ((0, 0), (0, 0)))])
def test_tensor_maps_that_can_be(rank, corners):
    sizes = rank if corners is None else 2
    assert ptx.tensor_map(0, "f16", (4,) * rank, (64,) * (rank - 1), (2,) * sizes, corners=corners)


@pytest.mark.parametrize("element, swizzle", [("f8", 0), ("f16", 16), ("", 0)])
def test_no_tensor_map_of_an_unknown_kind(element, swizzle):
    with pytest.raises(ValueError, match=f"no tensor map of {element} with swizzle {swizzle}"):
        ptx.tensor_map(0, element, (4,), (), (2,), swizzle=swizzle)


def test_a_tensor_map_that_cannot_be_is_refused():
    with pytest.raises(ValueError, match="rank of|tensor of rank"):
        ptx.tensor_map(0, "f16", (4, 4), (), (2, 2))
    with pytest.raises(ValueError, match="no tensor map of f8"):
        ptx.tensor_map(0, "f8", (4,), (), (2,))
