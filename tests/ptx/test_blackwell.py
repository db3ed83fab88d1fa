"""tcgen05: whole kernels against numpy, with exact numbers; layouts by the ISA's figures, one thread at a time.

No GPU of this generation has run these rows yet.
"""

import ml_dtypes
import numpy as np
import pytest
from running import execute, on_machine_only

from crosswarp.matrix.cell import ptx

# Shared memory: the address of what was allocated, two mbarriers at 8 and 16, operands from 1024 on.
_HEAD = """.version 8.8
.target sm_100a
.address_size 64
.extern .shared .align 1024 .b8 room[];
.visible .entry test(.param .u64 p0, .param .u64 p1, .param .u64 p2)
.reqntid 128
{
.reg .pred %p<9>; .reg .b32 %r<40>; .reg .b64 %d<30>; .reg .b32 %c<256>; .reg .b32 %o<256>;
mov.u32 %r0, %tid.x; mov.u32 %r2, room; setp.eq.u32 %p0, %r0, 0; setp.lt.u32 %p1, %r0, 32;
ld.param.u64 %d0, [p0]; ld.param.u64 %d1, [p1]; ld.param.u64 %d2, [p2];
add.u32 %r3, %r2, 8; add.u32 %r4, %r2, 16;
@%p0 mbarrier.init.shared::cta.b64 [%r3], 1; @%p0 mbarrier.init.shared::cta.b64 [%r4], 1;
@%p1 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r2], 512;
@%p1 tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;
bar.sync 0;
ld.shared.b32 %r5, [%r2];
shr.u32 %r6, %r0, 5; shl.b32 %r6, %r6, 21; add.u32 %r6, %r6, %r5;
"""
_TAIL = """bar.sync 0;
@%p1 tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r5, 512;
ret;
}
"""
WAIT_ST, WAIT_LD = "tcgen05.wait::st.sync.aligned;", "tcgen05.wait::ld.sync.aligned;"


def names(letter, count):
    return "{" + ", ".join(f"%{letter}{n}" for n in range(count)) + "}"


def fill(count):
    """Registers %c of each thread from p1, (128, count)."""
    lines = [f"mad.wide.u32 %d3, %r0, {4 * count}, %d1;"]
    return lines + [f"ld.global.b32 %c{n}, [%d3+{4 * n}];" for n in range(count)]


def give(count):
    """Registers %o of each thread to p2, (128, count)."""
    lines = [f"mad.wide.u32 %d4, %r0, {4 * count}, %d2;"]
    return lines + [f"st.global.b32 [%d4+{4 * n}], %o{n};" for n in range(count)]


def operands(nbytes):
    """p0 to shared memory."""
    return [
        "mov.u32 %r7, %r0;", "fill:", "mad.wide.u32 %d5, %r7, 4, %d0; ld.global.b32 %r8, [%d5];",
        "mad.lo.u32 %r9, %r7, 4, %r2; st.shared.b32 [%r9+1024], %r8; add.u32 %r7, %r7, 128;",
        f"setp.lt.u32 %p2, %r7, {nbytes // 4};", "@%p2 bra fill;", "fence.proxy.async.shared::cta;",
    ]  # fmt: skip


def wait(barrier="%r3", parity=0, label="come"):
    return [
        "{", ".reg .pred %w;", f"{label}:", f"mbarrier.try_wait.parity.shared::cta.b64 %w, [{barrier}], {parity};",
        f"@!%w bra {label};", "}", "tcgen05.fence::after_thread_sync;",
    ]  # fmt: skip


def run(lines, source, cells, count, shared=0):
    """Execute; returns the (128, count) that the threads give."""
    got = np.full((128, count), 0x5A5A5A5A, np.uint32)
    source = np.frombuffer(bytes(source) or bytes(4), np.uint8).copy()
    text = _HEAD + "\n".join(lines) + "\n" + _TAIL
    execute(
        text, (1,), [source, np.ascontiguousarray(cells), got], shared=1024 + len(source) + shared
    )
    return got


# ---------------------------------------------------------------- registers and tensor memory


def _lane_and_column(shape, thread, register):
    """Of a thread's register, from the address: the ISA's figures of the matrix fragments."""
    if shape == "32x32b":
        return thread, register
    if shape == "16x32bx2":
        # The upper half of the threads begins 16 columns further: what the tests add.
        return thread % 16, register + (16 if thread >= 16 else 0)
    if shape == "16x64b":
        # T0 and T2 share lane 0, T1 and T3 lane 8, T4 and T6 lane 1 …
        return thread // 4 + (8 if thread & 1 else 0), 2 * register + (1 if thread & 2 else 0)
    if shape == "16x128b":
        # r0 in the upper eight lanes, r1 in the lower, four columns by four threads.
        return thread // 4 + 8 * (register % 2), 4 * (register // 2) + thread % 4
    quad, at = divmod(register, 4)
    return thread // 4 + (8 if at >= 2 else 0), 8 * quad + 2 * (thread % 4) + at % 2


_REGISTERS = {"32x32b": 1, "16x64b": 1, "16x128b": 2, "16x256b": 4, "16x32bx2": 1}
_CELLS = (np.arange(128)[:, None] << 16 | np.arange(64)[None] | 0xA000).astype(np.uint32)
_SHAPES = [(shape, times) for shape in _REGISTERS for times in (1, 4)]


@pytest.mark.parametrize("shape, times", _SHAPES)
def test_loads_of_every_shape(shape, times):
    count = times * _REGISTERS[shape]
    more = ", 16" if shape == "16x32bx2" else ""
    upper = 0 if shape == "32x32b" else 16
    lines = [
        *fill(64), f"tcgen05.st.sync.aligned.32x32b.x64.b32 [%r6], {names('c', 64)};", WAIT_ST,
        f"add.u32 %r10, %r6, {upper << 16 | 8};",
        f"tcgen05.ld.sync.aligned.{shape}.x{times}.b32 {names('o', count)}, [%r10 + 4]{more};", WAIT_LD, *give(count),
    ]  # fmt: skip
    got = run(lines, b"", _CELLS, count)
    for thread in range(128):
        for register in range(count):
            lane, column = _lane_and_column(shape, thread % 32, register)
            assert got[thread, register] == _CELLS[32 * (thread // 32) + upper + lane, 12 + column]


@pytest.mark.parametrize("shape, times", _SHAPES)
def test_stores_of_every_shape(shape, times):
    count = times * _REGISTERS[shape]
    more = "16, " if shape == "16x32bx2" else ""
    values = np.random.default_rng(2).integers(0, 2**32, (128, count), np.uint32)
    lines = [
        *fill(count), f"tcgen05.st.sync.aligned.{shape}.x{times}.b32 [%r6], {more}{names('c', count)};", WAIT_ST,
        f"tcgen05.ld.sync.aligned.32x32b.x64.b32 {names('o', 64)}, [%r6];", WAIT_LD, *give(64),
    ]  # fmt: skip
    expected = np.full((128, 64), 0xFFFFFFFF, np.uint32)
    for thread in range(128):
        for register in range(count):
            lane, column = _lane_and_column(shape, thread % 32, register)
            expected[32 * (thread // 32) + lane, column] = values[thread, register]
    assert np.array_equal(run(lines, b"", values, 64), expected)


def test_halves_are_unpacked_to_columns_and_packed_again():
    values = np.random.default_rng(3).integers(0, 2**32, (128, 2), np.uint32)
    lines = [
        *fill(2), f"tcgen05.st.sync.aligned.32x32b.x2.unpack::16b.b32 [%r6], {names('c', 2)};", WAIT_ST,
        f"tcgen05.ld.sync.aligned.32x32b.x4.b32 {names('o', 4)}, [%r6];", WAIT_LD,
        "tcgen05.ld.sync.aligned.32x32b.x2.pack::16b.b32 {%o4, %o5}, [%r6];", WAIT_LD, *give(6),
    ]  # fmt: skip
    got = run(lines, b"", values, 6)
    assert np.array_equal(got[:, :4] & 0xFFFF, np.ascontiguousarray(values).view(np.uint16))
    assert np.array_equal(got[:, 4:], values)


# ---------------------------------------------------------------- products

# kind, type of A and B, of the result -> numpy's types, codes of A's, B's and D's types.
_KINDS = {
    "f16": ("f16", np.float16, 0, 1, np.float32), "bf16": ("f16", ml_dtypes.bfloat16, 1, 1, np.float32),
    "f16 to f16": ("f16", np.float16, 0, 0, np.float16), "tf32": ("tf32", np.float32, 2, 1, np.float32),
    "e4m3": ("f8f6f4", ml_dtypes.float8_e4m3fn, 0, 1, np.float32),
    "e5m2": ("f8f6f4", ml_dtypes.float8_e5m2, 1, 1, np.float32),
    "s8": ("i8", np.int8, 1, 2, np.int32), "u8": ("i8", np.uint8, 0, 2, np.int32),
}  # fmt: skip
_SPAN_CODES = {0: 0, 128: 2, 64: 4, 32: 6}


def _swizzle(at, span):
    """The ISA's permutation of the 16 bytes of a line of 128: within 1024, 512 or 256 bytes."""
    line, chunk, byte = at // 128, at // 16 % 8, at % 16
    chunk ^= {0: 0, 32: line % 2, 64: line % 4, 128: line % 8}[span]
    return 128 * line + 16 * chunk + byte


def in_shared(matrix, span, along_rows=False):
    """(bytes, leading, stride) of a matrix (rows, K): K-major, or with rows next to each other.

    The bytes of 8 rows of `span` bytes are an atom; without a swizzle, an atom is 8 rows of 16 bytes.
    """
    raw = np.ascontiguousarray(matrix.T if along_rows else matrix)
    size = raw.dtype.itemsize
    raw = raw.view(np.uint8).reshape(*raw.shape, size)
    outer, inner = raw.shape[:2]
    pitch = span or 16
    per = pitch // size
    groups, atoms = -(-outer // 8), -(-inner // per)
    room = np.zeros(groups * atoms * 8 * pitch, np.uint8)
    for i in range(outer):
        for j in range(inner):
            # Atoms along the inner dimension first, then groups of 8.
            atom = (i // 8) * atoms + j // per
            at = _swizzle(atom * 8 * pitch + i % 8 * pitch + j % per * size, span)
            room[at : at + size] = raw[i, j]
    between_atoms, between_groups = 8 * pitch, 8 * pitch * atoms
    if along_rows and not span:
        return room, between_groups, between_atoms
    return room, between_atoms, between_groups


def descriptor(leading, stride, span):
    """All but the address."""
    return (leading >> 4) << 16 | (stride >> 4) << 32 | 1 << 46 | _SPAN_CODES[span] << 61


def instruction(m, n, a, b, d, transposed=(0, 0), negated=(0, 0)):
    return (
        d << 4 | a << 7 | b << 10 | negated[0] << 13 | negated[1] << 14 | transposed[0] << 15 | transposed[1] << 16
        | n >> 3 << 17 | m >> 4 << 24
    )  # fmt: skip


def lanes_of(m):
    """The lane of each row of D."""
    return [row if m == 128 else row // 16 * 32 + row % 16 for row in range(m)]


def multiply(kind, code, a, b, adds=1, tensor_a=None, more="", commit="%r3"):
    """The lines of one product; `a` and `b` are (offset in the operands, descriptor)."""
    lines = ["@!%p0 bra multiplied;"]
    for place, (offset, form) in enumerate((a, b)):
        lines += [
            f"add.u32 %r11, %r2, {1024 + offset}; shr.u32 %r11, %r11, 4; cvt.u64.u32 %d{6 + place}, %r11;",
            f"mov.b64 %d8, {form:#x}; or.b64 %d{6 + place}, %d{6 + place}, %d8;",
        ]
    left = "%d6" if tensor_a is None else f"[%r5 + {tensor_a}]"
    lines += [f"mov.b32 %r12, {code}; setp.ne.u32 %p3, {adds}, 0;",
              f"tcgen05.mma.cta_group::1.kind::{kind} [%r5 + 0], {left}, %d7, %r12, {more}%p3;",
              f"tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [{commit}];",
              "multiplied:"]  # fmt: skip
    return lines


def before(columns, nbytes):
    """Cells from p1, operands from p0, and all threads have seen both."""
    return [
        *fill(columns), f"tcgen05.st.sync.aligned.32x32b.x{columns}.b32 [%r6], {names('c', columns)};", WAIT_ST,
        *operands(nbytes), "tcgen05.fence::before_thread_sync;", "bar.sync 0;", "tcgen05.fence::after_thread_sync;",
    ]  # fmt: skip


def after(columns):
    return [
        f"tcgen05.ld.sync.aligned.32x32b.x{columns}.b32 {names('o', columns)}, [%r6];",
        WAIT_LD,
        *give(columns),
    ]


def raw_cells(matrix):
    """(lanes, columns) of the numbers of D: 16 bits lie alone in a column."""
    raw = np.ascontiguousarray(matrix)
    return raw.view(np.uint16).astype(np.uint32) if raw.dtype.itemsize == 2 else raw.view(np.uint32)


def check(
    name,
    m=128,
    n=32,
    span=128,
    along=(False, False),
    adds=1,
    in_tensor=False,
    negated=(0, 0),
    a=None,
):
    kind, dtype, code, d_code, out = _KINDS[name]
    depth = 32 // np.dtype(dtype).itemsize
    random = np.random.default_rng(7)
    low = 0 if dtype == np.uint8 else -8
    made = random.integers(low, 9, (m, depth)).astype(dtype)
    a = made if a is None else a
    b = random.integers(low, 9, (n, depth)).astype(dtype)
    c = random.integers(-100, 100, (128, 64)).astype(out)
    left, right = in_shared(a, span, along[0]), in_shared(b, span, along[1])
    source = np.concatenate([left[0], np.zeros(-len(left[0]) % 1024, np.uint8), right[0]])
    forms = [
        (0, descriptor(*left[1:], span)),
        (len(source) - len(right[0]), descriptor(*right[1:], span)),
    ]
    cells = raw_cells(c).copy()
    if in_tensor:
        words = np.ascontiguousarray(a).view(np.uint32).reshape(m, 8)
        cells[lanes_of(m), 40:48] = words
        source[: len(left[0])] = 0xFF
    idesc = instruction(m, n, code, code, d_code, [int(one) for one in along], negated)
    lines = [
        *before(64, len(source)),
        *multiply(kind, idesc, *forms, adds, 40 if in_tensor else None), *wait(), *after(64),
    ]  # fmt: skip
    got = run(lines, source, cells, 64)
    with np.errstate(all="ignore"):
        product = a.astype(np.float64) @ b.astype(np.float64).T
        product *= (-1) ** sum(negated)
        total = product + (c[lanes_of(m), :n].astype(np.float64) if adds else 0)
        expected = total.astype(out)
    found = got[lanes_of(m), :n]
    if out == np.float16:
        found = found.astype(np.uint16)
    assert np.array_equal(found.view(out), expected, equal_nan=out != np.int32)
    # Nothing else is touched.
    rest = np.ones((128, 64), bool)
    rest[np.ix_(lanes_of(m), range(n))] = False
    assert np.array_equal(got[rest], cells[rest])


@pytest.mark.parametrize("span", [0, 32, 64, 128])
@pytest.mark.parametrize("name", list(_KINDS))
def test_products_of_shared_memory(name, span):
    check(name, span=span)


@pytest.mark.parametrize("m, n", [(64, 8), (64, 64), (128, 16), (128, 64)])
def test_products_of_other_sizes(m, n):
    check("f16", m, n)


@pytest.mark.parametrize("span", [0, 32, 64, 128])
@pytest.mark.parametrize("along", [(True, False), (False, True), (True, True)])
@pytest.mark.parametrize("name", ["bf16", "e4m3"])
def test_products_of_matrices_that_lie_the_other_way(name, along, span):
    check(name, n=64, span=span, along=along)


@pytest.mark.parametrize("m", [64, 128])
@pytest.mark.parametrize("name", ["f16", "tf32", "e5m2", "s8"])
def test_products_with_a_in_tensor_memory(name, m):
    check(name, m, in_tensor=True)


def test_products_without_what_was_there():
    check("bf16", adds=0)


@pytest.mark.parametrize("negated", [(1, 0), (0, 1), (1, 1)])
def test_products_of_negated_matrices(negated):
    check("f16", negated=negated)


def test_products_of_special_numbers():
    a = np.zeros((128, 16), np.float16)
    a[0, 0], a[1, 3], a[2, 5] = np.inf, np.nan, 2.0**-24
    a[3, :2], a[4, 0] = (np.inf, -np.inf), 65504
    check("f16", a=a)


# ---------------------------------------------------------------- products with scale factors

_FP4 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6] + [-0.0, -0.5, -1, -1.5, -2, -3, -4, -6])


def _scale_columns(scales):
    """(128 lanes, 4 columns): row r in lane r % 32 of each quarter and column r // 32, a byte for each block of K."""
    found = np.zeros((32, 4, 4), np.uint8)
    for row in range(len(scales)):
        found[row % 32, row // 32, : scales.shape[1]] = scales[row]
    return np.tile(found.view(np.uint32)[..., 0], (4, 1))


@pytest.mark.parametrize("which", [0, 1, 3])
@pytest.mark.parametrize("form", ["mxf8f6f4", "mxf8f6f4 of e2m1", "mxf4", "mxf4nvf4"])
def test_scaled_products(form, which):
    kind, _, small = form.partition(" of ")
    block = 16 if kind == "mxf4nvf4" else 32
    random = np.random.default_rng(11)
    dense = kind.startswith("mxf4")
    depth = 64 if dense else 32
    n, per = 32, depth // block
    first = 0 if per == 4 else which // per * per
    values, stored = [], []
    for rows in (128, n):
        if dense or small:
            codes = random.integers(0, 16, (rows, depth), np.uint8)
            values.append(_FP4[codes])
            raw = codes[:, ::2] | codes[:, 1::2] << 4
            if small:
                # 8 bytes of numbers, and 8 that nobody reads.
                raw = np.concatenate(
                    [raw.reshape(rows, -1, 8), np.full((rows, 2, 8), 0xFF, np.uint8)], 2
                )
            stored.append(raw.reshape(rows, 32))
        else:
            x = random.integers(-8, 9, (rows, depth)).astype(ml_dtypes.float8_e4m3fn)
            values.append(x.astype(np.float64))
            stored.append(x.view(np.uint8))
    if kind == "mxf4nvf4":
        scales = [random.integers(0x20, 0x50, (rows, 4), np.uint8) for rows in (128, n)]
        factors = [x.view(ml_dtypes.float8_e4m3fn).astype(np.float64) for x in scales]
    else:
        scales = [random.integers(120, 135, (rows, 4), np.uint8) for rows in (128, n)]
        scales[0][5, first] = 255
        factors = [np.where(x == 255, np.nan, 2.0 ** (x.astype(np.float64) - 127)) for x in scales]
    wide = [
        x * np.repeat(factor[:, first : first + per], block, 1)
        for x, factor in zip(values, factors)
    ]
    expected = (wide[0] @ wide[1].T).astype(np.float32)
    left, right = (in_shared(np.ascontiguousarray(x), 32) for x in stored)
    source = np.concatenate([left[0], right[0]])
    forms = [(0, descriptor(*left[1:], 32)), (len(left[0]), descriptor(*right[1:], 32))]
    cells = np.zeros((128, 64), np.uint32)
    cells[:, 40:44], cells[:, 44:48] = _scale_columns(scales[0]), _scale_columns(scales[1])
    code = 5 if small else 1 if dense else 0
    idesc = (
        code << 7 | code << 10 | n >> 3 << 17 | (kind != "mxf4nvf4") << 23 | 1 << 27 | first << 29 | first << 4
    )  # fmt: skip
    vector = {"mxf8f6f4": "scale_vec::1X", "mxf4": "block32", "mxf4nvf4": "block16"}[kind]
    lines = [
        *before(64, len(source)),
        *multiply(f"{kind}.block_scale.{vector}", idesc, *forms, 0, more="[%r5 + 40], [%r5 + 44], "),
        *wait(), *after(64),
    ]  # fmt: skip
    got = run(lines, source, cells, 64)[:, :n].view(np.float32)
    assert np.isnan(got[5]).all() == (kind != "mxf4nvf4")
    assert np.array_equal(got, expected, equal_nan=True)


# ---------------------------------------------------------------- copies


@pytest.mark.parametrize("shape", ["32x128b.warpx4", "128x256b", "128x128b"])
def test_copies_to_tensor_memory(shape):
    rows, words = (32, 4) if shape.startswith("32") else (128, 8 if "256" in shape else 4)
    block = np.random.default_rng(4).integers(0, 2**32, (rows, words), np.uint32)
    raw, leading, stride = in_shared(block, 0)
    lines = [
        *before(64, len(raw)), "@!%p0 bra copied;", "add.u32 %r11, %r2, 1024; shr.u32 %r11, %r11, 4;",
        f"cvt.u64.u32 %d6, %r11; mov.b64 %d8, {descriptor(leading, stride, 0):#x}; or.b64 %d6, %d6, %d8;",
        f"tcgen05.cp.cta_group::1.{shape} [%r5 + 8], %d6;",
        "tcgen05.commit.cta_group::1.mbarrier::arrive::one.b64 [%r3];", "copied:", *wait(), *after(64),
    ]  # fmt: skip
    cells = np.arange(128 * 64, dtype=np.uint32).reshape(128, 64)
    expected = cells.copy()
    expected[:, 8 : 8 + words] = np.tile(block, (128 // rows, 1))
    assert np.array_equal(run(lines, raw, cells, 64), expected)


# ---------------------------------------------------------------- what nobody has waited for


def _product(*, wait_for=True, between=()):
    a, b = np.eye(128, 16, dtype=np.float16), np.ones((32, 16), np.float16)
    left, right = in_shared(a, 32), in_shared(b, 32)
    source = np.concatenate([left[0], right[0]])
    forms = [(0, descriptor(*left[1:], 32)), (len(left[0]), descriptor(*right[1:], 32))]
    waited = wait() if wait_for else []
    lines = [
        *before(32, len(source)),
        *multiply("f16", instruction(128, 32, 0, 0, 1), *forms, 0),
        *between,
    ]
    return run([*lines, *waited, *after(32)], source, np.zeros((128, 32), np.uint32), 32).view(
        np.float32
    )


@on_machine_only
class TestMissingWaits:
    def test_a_product_is_there_when_it_was_waited_for(self):
        got = _product()
        assert (got[:16] == 1).all() and (got[16:] == 0).all()

    def test_a_product_that_nobody_waits_for_is_nan(self):
        assert np.isnan(_product(wait_for=False)).all()

    def test_operands_are_read_as_late_as_a_device_may(self):
        zero = ["mov.u32 %r20, 0; mad.lo.u32 %r21, %r0, 16, %r2;",
                "st.shared.v4.b32 [%r21+1024], {%r20, %r20, %r20, %r20};", "bar.sync 0;"]  # fmt: skip
        overwritten = _product(between=zero)
        assert (overwritten[:16] == 0).any()

    def test_a_store_that_nobody_waits_for_has_not_come(self):
        lines = [
            *fill(4), f"tcgen05.st.sync.aligned.32x32b.x4.b32 [%r6], {names('c', 4)};",
            f"tcgen05.ld.sync.aligned.32x32b.x4.b32 {names('o', 4)}, [%r6];", WAIT_LD, *give(4),
        ]  # fmt: skip
        assert (run(lines, b"", _CELLS[:, :4], 4) == 0xFFFFFFFF).all()

    def test_each_commit_ends_a_phase(self):
        # Two commits on one mbarrier: who waits for the first phase must not see the second end it again.
        again = ["@%p0 tcgen05.commit.cta_group::1.mbarrier::arrive::one.b64 [%r3];"]
        got = _product(
            between=[*again, *wait("%r3", 0, "first"), *wait("%r3", 1, "second")], wait_for=False
        )
        assert (got[:16] == 1).all()

    def test_a_commit_that_nobody_makes_is_a_deadlock(self):
        with pytest.raises(ptx.Deadlock):
            run([*wait(), "mov.u32 %o0, 0;", *give(1)], b"", _CELLS, 1)


@on_machine_only
@pytest.mark.parametrize("line, told", [
    ("@%p1 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r2], 32;", "after relinquish_alloc_permit"),
    ("@%p1 tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r5, 256;", "which nobody has allocated"),
    ("tcgen05.ld.sync.aligned.32x32b.x1.b32 {%o0}, [%r5];", "lanes that belong to another"),
    ("tcgen05.ld.sync.aligned.32x32b.x2.b32 {%o0, %o1}, [%r6 + 511];", "nobody has allocated"),
    ("@%p0 tcgen05.wait::st.sync.aligned;", ""),
    ("@%p0 tcgen05.st.sync.aligned.32x32b.x1.b32 [%r6], {%c0};", "by some of the threads"),
])  # fmt: skip
def test_what_a_gpu_would_not_survive(line, told):
    lines = [line, "mov.u32 %o0, 0;", *give(1)]
    if "dealloc" in line:
        lines.insert(1, "bar.sync 0;")
    if not told:
        # Nothing was stored: there is nothing to wait for.
        run(lines, b"", _CELLS, 1)
        return
    with pytest.raises(ptx.Fault, match=told):
        run(lines, b"", _CELLS, 1)


@pytest.mark.parametrize(
    "columns, told", [(48, "48 columns"), (16, "16 columns"), (512, "no 512 columns are free")]
)
@on_machine_only
def test_allocations_that_cannot_be(columns, told):
    text = _HEAD.replace("@%p1 tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;", (
        f"@%p1 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r2], {columns};"))  # fmt: skip
    with pytest.raises(ptx.Fault, match=told):
        execute(text + _TAIL, (1,), [np.zeros(4, np.uint32)] * 3, shared=1024)


@on_machine_only
@pytest.mark.parametrize("line", [
    "tcgen05.shift.cta_group::1.down [%r5];",
    "tcgen05.mma.cta_group::2.kind::f16 [%r5], %d6, %d7, %r12, %p3;",
    "tcgen05.mma.ws.cta_group::1.kind::f16 [%r5], %d6, %d7, %r12, %p3;",
    "tcgen05.commit.cta_group::1.mbarrier::arrive::one.multicast::cluster.b64 [%r3], %h0;",
    "tcgen05.cp.cta_group::1.4x256b [%r5], %d6;",
])  # fmt: skip
def test_what_is_not_known_is_refused_by_its_name(line):
    with pytest.raises(ptx.Unsupported) as caught:
        ptx.load(_HEAD + line + "\n" + _TAIL)
    assert caught.value.opcode == line.split()[0]
