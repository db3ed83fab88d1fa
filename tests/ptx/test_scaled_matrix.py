"""mma.sync with scale factors (sm_120): fragments and selectors by the ISA, products by numpy on exact numbers.

No GPU of this generation has run these rows yet.
"""

import ml_dtypes
import numpy as np
import pytest
from running import execute

from crosswarp.matrix.cell.machines import ptx

_FP4 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])
_FP8 = {"e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2}
# kind, number of factors, types of A, B and of the factors, K
FORMS = [
    ("mxf8f6f4", 1, "e4m3", "e4m3", "ue8m0", 32), ("mxf8f6f4", 1, "e5m2", "e4m3", "ue8m0", 32),
    ("mxf4", 2, "e2m1", "e2m1", "ue8m0", 64), ("mxf4nvf4", 2, "e2m1", "e2m1", "ue8m0", 64),
    ("mxf4nvf4", 4, "e2m1", "e2m1", "ue8m0", 64), ("mxf4nvf4", 4, "e2m1", "e2m1", "ue4m3", 64),
]  # fmt: skip


def _numbers(random, rows, depth, kind):
    """(rows, K) numbers, and their bytes."""
    if kind == "e2m1":
        codes = random.integers(0, 16, (rows, depth), np.uint8)
        return _FP4[codes], codes[:, ::2] | codes[:, 1::2] << 4
    x = random.integers(-8, 9, (rows, depth)).astype(_FP8[kind])
    return x.astype(np.float64), x.view(np.uint8)


def _registers(raw, halves):
    """(32 lanes, registers): a lane has four bytes of K of its row; the next rows first, then the other half of K."""
    found = np.zeros((32, 2 * halves), np.uint32)
    for lane in range(32):
        for register in range(2 * halves):
            row = lane // 4 + 8 * (register % halves)
            first = 4 * (lane % 4) + 16 * (register // halves)
            found[lane, register] = raw[row, first : first + 4].copy().view(np.uint32)[0]
    return found


def _text(form, selectors):
    kind, count, a, b, scale, depth = form
    (byte_a, thread_a), (byte_b, thread_b) = selectors
    lines = [
        ".version 9.1\n.target sm_120a\n.address_size 64", ".visible .entry row(.param .u64 from, .param .u64 to)",
        ".reqntid 32\n{\n.reg .b32 %r<40>; .reg .b64 %d<6>;", "mov.u32 %r39, %tid.x;", "ld.param.u64 %d1, [from];",
        "ld.param.u64 %d2, [to]; mad.wide.u32 %d3, %r39, 48, %d1; mad.wide.u32 %d4, %r39, 16, %d2;",
        *(f"ld.global.b32 %r{n}, [%d3+{4 * n}];" for n in range(12)),
        f"mma.sync.aligned.m16n8k{depth}.row.col.kind::{kind}.block_scale.scale_vec::{count}X.f32.{a}.{b}.f32.{scale} "
        "{%r12, %r13, %r14, %r15}, {%r0, %r1, %r2, %r3}, {%r4, %r5}, {%r6, %r7, %r8, %r9}, "
        f"%r10, {{{byte_a}, {thread_a}}}, %r11, {{{byte_b}, {thread_b}}};",
        *(f"st.global.b32 [%d4+{4 * n}], %r{12 + n};" for n in range(4)), "ret;\n}",
    ]  # fmt: skip
    return "\n".join(lines)


@pytest.mark.parametrize("threads", [(0, 0), (1, 3), (0, 2)])
@pytest.mark.parametrize("form", FORMS, ids=lambda form: ".".join(map(str, form)))
def test_scaled_products(form, threads):
    kind, count, a_kind, b_kind, scale, depth = form
    random = np.random.default_rng(5)
    first = {1: (3, 1), 2: (2, 0), 4: (0, 0)}[count]
    a, a_raw = _numbers(random, 16, depth, a_kind)
    b, b_raw = _numbers(random, 8, depth, b_kind)
    c = random.integers(-1000, 1000, (16, 8)).astype(np.float32)
    low, high = (118, 136) if scale == "ue8m0" else (0x20, 0x50)
    factors = [random.integers(low, high, (rows, count), np.uint8) for rows in (16, 8)]
    if scale == "ue8m0":
        factors[0][9, 0] = 255
    # Bytes that no selector means are NaN.
    data = np.full((2, 32, 4), 255, np.uint8)
    for lane in range(32):
        quad, place = divmod(lane, 4)
        if place // 2 == threads[0]:
            data[0, lane, first[0] : first[0] + count] = factors[0][quad + 8 * (place % 2)]
        if place == threads[1]:
            data[1, lane, first[1] : first[1] + count] = factors[1][quad]
    if scale == "ue8m0":
        wide = [np.where(x == 255, np.nan, 2.0 ** (x.astype(np.float64) - 127)) for x in factors]
    else:
        wide = [x.view(ml_dtypes.float8_e4m3fn).astype(np.float64) for x in factors]
    left, right = (x * np.repeat(f, depth // count, 1) for x, f in zip((a, b), wide))
    d = (left @ right.T + c).astype(np.float32)
    places = [
        (lane // 4 + 8 * (n // 2), lane % 4 * 2 + n % 2) for lane in range(32) for n in range(4)
    ]
    sums = np.array([c[place] for place in places]).view(np.uint32).reshape(32, 4)
    source = np.concatenate(
        [_registers(a_raw, 2), _registers(b_raw, 1), sums, data[0].view(np.uint32), data[1].view(np.uint32)], 1
    )  # fmt: skip
    got = np.zeros((32, 4), np.float32)
    text = _text(form, ((first[0], threads[0]), (first[1], threads[1])))
    execute(text, (1,), [np.ascontiguousarray(source), got])
    expected = np.array([d[place] for place in places]).reshape(32, 4)
    assert np.isnan(expected).any() == (scale == "ue8m0")
    assert np.array_equal(got, expected, equal_nan=True)


@pytest.mark.parametrize(
    "form", [("mxf8f6f4", 1, "e2m1", "e2m1", "ue8m0", 32), ("mxf4", 4, "e2m1", "e2m1", "ue8m0", 64)]
)
def test_what_is_not_known_is_refused_by_its_name(form):
    with pytest.raises(ptx.Unsupported, match=f"mma.sync.aligned.m16n8k{form[-1]}.*{form[0]}"):
        ptx.load(_text(form, ((0, 0), (0, 0))))
