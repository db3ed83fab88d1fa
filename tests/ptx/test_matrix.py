"""mma, ldmatrix, stmatrix: fragments by the ISA's formulas, products by numpy on numbers that are exact."""

import math

import ml_dtypes
import numpy as np
import pytest
from running import execute

from crosswarp.matrix.cell.machines.ptx.tensor_cores import multiplied

_DTYPES = {
    "f16": np.float16, "bf16": ml_dtypes.bfloat16, "tf32": np.float32, "s8": np.int8, "u8": np.uint8,
    "e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2,
}  # fmt: skip
# shape, types of D, A, B and C, target
FORMS = [
    ("m16n8k16", "f32", "f16", "f16", "f32", "sm_80"), ("m16n8k8", "f32", "f16", "f16", "f32", "sm_80"),
    ("m16n8k16", "f16", "f16", "f16", "f16", "sm_80"), ("m16n8k16", "f32", "bf16", "bf16", "f32", "sm_80"),
    ("m16n8k8", "f32", "bf16", "bf16", "f32", "sm_80"), ("m16n8k8", "f32", "tf32", "tf32", "f32", "sm_80"),
    ("m16n8k4", "f32", "tf32", "tf32", "f32", "sm_80"), ("m16n8k32", "s32", "s8", "s8", "s32", "sm_80"),
    ("m16n8k16", "s32", "s8", "s8", "s32", "sm_80"), ("m16n8k32", "s32", "u8", "s8", "s32", "sm_80"),
    ("m16n8k32", "f32", "e4m3", "e4m3", "f32", "sm_89"), ("m16n8k32", "f32", "e5m2", "e4m3", "f32", "sm_89"),
]  # fmt: skip


def _fragments(shape, width):
    """(row, column) of each element in the registers of A, B and C, by the ISA: per lane, in order."""
    depth = int(shape.split("k")[1])
    per = 32 // width
    a, b, c = [], [], []
    for lane in range(32):
        group, place = lane >> 2, lane & 3
        rows = []
        for register in range(16 * depth // 32 // per):
            for element in range(per):
                row = group + 8 * (register % 2)
                column = place * per + element + 4 * per * (register // 2)
                rows.append((row, column))
        a.append(rows)
        b.append([(place * per + element + 4 * per * register, group)
                  for register in range(8 * depth // 32 // per) for element in range(per)])  # fmt: skip
        c.append([(group + 8 * (i // 2), place * 2 + i % 2) for i in range(4)])
    return a, b, c


def _packed(matrix, places):
    """The registers of each lane as (lanes, registers)."""
    raw = np.array([[matrix[at] for at in lane] for lane in places])
    return np.ascontiguousarray(raw).view(np.uint32)


def _numbers(random, shape, kind, largest=8):
    values = random.integers(0 if kind == "u8" else -largest, largest + 1, shape)
    return values.astype(_DTYPES[kind])


def _row(form, extreme=False):
    shape, d_kind, a_kind, b_kind, c_kind, target = form
    random = np.random.default_rng(5)
    depth = int(shape.split("k")[1])
    largest = 127 if extreme else 8
    a = _numbers(random, (16, depth), a_kind, largest)
    b = _numbers(random, (depth, 8), b_kind, largest)
    width = 8 * a.dtype.itemsize
    integer = d_kind == "s32"
    c = random.integers(-1000, 1000, (16, 8)).astype(np.int64 if integer else np.float64)
    if extreme:
        c = np.where(c > 0, 2**31 - 5, -(2**31) + 5)
    product = a.astype(np.float64) @ b.astype(np.float64)
    d = product.astype(np.int64) + c if integer else product + c
    satfinite = ".satfinite" if extreme else ""
    d = np.clip(d, -(2**31), 2**31 - 1) if extreme else d
    places = _fragments(shape, width)
    out = {"f32": np.float32, "f16": np.float16, "s32": np.int32}[d_kind]
    registers = [_packed(a, places[0]), _packed(b, places[1]), _packed(c.astype(out), places[2])]
    expected = _packed(d.astype(out), places[2])
    return shape, (d_kind, a_kind, b_kind, c_kind), satfinite, registers, expected, target


def _kernel(shape, kinds, satfinite, counts, target):
    """One warp: each lane loads its registers from consecutive words, and stores its result likewise."""
    a, b, c = counts
    total = a + b + c
    lines = [f".version 8.4\n.target {target}\n.address_size 64",
             ".visible .entry row(.param .u64 from, .param .u64 to)\n.reqntid 32\n{",
             ".reg .b32 %r<40>; .reg .b64 %d<6>;", "mov.u32 %r39, %tid.x;", "ld.param.u64 %d1, [from];",
             "ld.param.u64 %d2, [to];", f"mad.wide.u32 %d3, %r39, {4 * total}, %d1;",
             f"mad.wide.u32 %d4, %r39, {4 * c}, %d2;"]  # fmt: skip
    lines += [f"ld.global.b32 %r{i}, [%d3+{4 * i}];" for i in range(total)]
    names = [f"%r{i}" for i in range(total)]
    d = [f"%r{total + i}" for i in range(c)]
    lines.append(
        f"mma.sync.aligned.{shape}.row.col{satfinite}.{'.'.join(kinds)} {{{', '.join(d)}}}, "
        f"{{{', '.join(names[:a])}}}, "
        f"{{{', '.join(names[a : a + b])}}}, {{{', '.join(names[a + b :])}}};"
    )
    lines += [f"st.global.b32 [%d4+{4 * i}], {name};" for i, name in enumerate(d)]
    return "\n".join([*lines, "ret;", "}"])


def _check(form, extreme=False):
    shape, kinds, satfinite, registers, expected, target = _row(form, extreme)
    text = _kernel(shape, kinds, satfinite, [part.shape[1] for part in registers], target)
    source = np.ascontiguousarray(np.concatenate(registers, 1))
    got = np.zeros_like(expected)
    execute(text, (1, 1, 1), [source, got])
    assert np.array_equal(got, expected)


@pytest.mark.parametrize("form", FORMS, ids=lambda form: ".".join(form[:5]))
def test_products(form):
    _check(form)


def test_a_sum_of_products_is_rounded_once_on_every_machine():
    draw = np.random.default_rng(0)
    left, right = (
        draw.standard_normal(shape).astype(np.float16).astype(np.float32)
        for shape in ((16, 16), (16, 8))
    )
    wanted = [
        [np.float32(math.fsum(map(float, row * column))) for column in right.T] for row in left
    ]
    assert np.array_equal(multiplied(left, right), np.array(wanted))


def test_integer_products_saturate():
    _check(("m16n8k32", "s32", "s8", "s8", "s32", "sm_80"), extreme=True)


def test_an_infinite_element_spoils_its_row_and_nothing_else():
    shape, kinds, _, registers, expected, target = _row(FORMS[0])
    a, _, c = _fragments(shape, 16)
    halves = registers[0].view(np.uint16)
    for lane, places in enumerate(a):
        for element, place in enumerate(places):
            if place == (3, 5):
                halves[lane, element] = 0x7E00
    text = _kernel(shape, kinds, "", [part.shape[1] for part in registers], target)
    got = np.zeros_like(expected)
    execute(text, (1, 1, 1), [np.ascontiguousarray(np.concatenate(registers, 1)), got])
    for lane, places in enumerate(c):
        for register, (row, _) in enumerate(places):
            if row == 3:
                assert np.isnan(got.view(np.float32)[lane, register])
            else:
                assert got[lane, register] == expected[lane, register]


def _matrix_kernel(count, transpose, store):
    """Rows of 16 bytes to shared memory, ldmatrix; or registers by stmatrix, and rows back."""
    target = "sm_90" if store else "sm_80"
    names = ", ".join(f"%r{i}" for i in range(count))
    trans = ".trans" if transpose else ""
    head = (
        f".version 8.4\n.target {target}\n.address_size 64\n.visible .entry row(.param .u64 from, .param .u64 to)\n"
        ".reqntid 32\n{\n.shared .align 16 .b8 room[512];\n.reg .b32 %r<12>; .reg .b64 %d<9>; .reg .pred %p;\n"
        "mov.u32 %r9, %tid.x; mov.u32 %r8, room; shl.b32 %r7, %r9, 4; add.u32 %r8, %r8, %r7;\n"
        "ld.param.u64 %d1, [from]; ld.param.u64 %d2, [to]; mad.wide.u32 %d3, %r9, 16, %d1;\n"
        "mad.wide.u32 %d4, %r9, 16, %d2;\n"
    )
    if not store:
        loads = "ld.global.v4.b32 {%r0, %r1, %r2, %r3}, [%d3];\nst.shared.v4.b32 [%r8], {%r0, %r1, %r2, %r3};\n"
        body = f"bar.sync 0;\nldmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16 {{{names}}}, [%r8];\n"
        stores = "".join(f"st.global.b32 [%d4+{4 * i}], %r{i};\n" for i in range(count))
        return head + loads + body + stores + "ret;\n}"
    loads = "".join(f"ld.global.b32 %r{i}, [%d3+{4 * i}];\n" for i in range(count))
    body = (
        f"stmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16 [%r8], {{{names}}};\nbar.sync 0;\n"
    )
    stores = "ld.shared.v4.b32 {%r0, %r1, %r2, %r3}, [%r8];\nst.global.v4.b32 [%d4], {%r0, %r1, %r2, %r3};\n"
    return head + loads + body + stores + "ret;\n}"


def _expected_registers(rows, count, transpose):
    """The fragment of each lane: row lane / 4, elements 2 * (lane % 4) and the next."""
    matrices = rows.view(np.uint16).reshape(-1, 8, 8)[:count]
    if transpose:
        matrices = matrices.transpose(0, 2, 1)
    found = np.zeros((32, 4, 2), np.uint16)
    for lane in range(32):
        for number in range(count):
            found[lane, number] = matrices[number, lane // 4, 2 * (lane % 4) : 2 * (lane % 4) + 2]
    return found.reshape(32, 8).view(np.uint32)


@pytest.mark.parametrize("transpose", [False, True])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_ldmatrix(count, transpose):
    rows = np.arange(256, dtype=np.uint16).reshape(32, 8) * np.uint16(257)
    got = np.zeros((32, 4), np.uint32)
    execute(_matrix_kernel(count, transpose, store=False), (1, 1, 1), [rows, got])
    assert np.array_equal(got, _expected_registers(rows, count, transpose))


@pytest.mark.parametrize("transpose", [False, True])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_stmatrix(count, transpose):
    rows = np.arange(256, dtype=np.uint16).reshape(32, 8) * np.uint16(257)
    registers = _expected_registers(rows, count, transpose)
    got = np.zeros((32, 8), np.uint16)
    execute(_matrix_kernel(count, transpose, store=True), (1, 1, 1), [registers, got])
    assert np.array_equal(got[: 8 * count], rows[: 8 * count])
