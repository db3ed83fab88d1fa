"""Matrix products, with every element in the lane and register that AMD's documents say."""

import ml_dtypes
import numpy as np
import pytest
from amd_running import run

KINDS = {"f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16, "i8": np.int8}


def words(items):
    """(lanes, items) -> raw words by register."""
    raw = np.ascontiguousarray(items).view(np.uint32)
    return [raw[:, place] for place in range(raw.shape[1])]


def registers(first, items):
    return {first + place: word for place, word in enumerate(words(items))}


def packed_pairs(items):
    """Two items of four bits a byte, the first in the low half."""
    raw = items.view(np.uint8)
    return (raw[:, ::2] | raw[:, 1::2] << 4).astype(np.uint8)


def number(random, kind, shape):
    if kind == "i8":
        return random.integers(-9, 9, shape).astype(np.int8)
    return (random.integers(-8, 9, shape) / 4).astype(KINDS[kind])


# Name, M, N, K, blocks, kind, operand registers of A.
MFMA = [
    ("v_mfma_f32_32x32x8_f16", 32, 32, 8, "f16"), ("v_mfma_f32_16x16x16_f16", 16, 16, 16, "f16"),
    ("v_mfma_f32_32x32x8_bf16", 32, 32, 8, "bf16"), ("v_mfma_f32_16x16x16_bf16", 16, 16, 16, "bf16"),
    ("v_mfma_f32_32x32x2_f32", 32, 32, 2, "f32"), ("v_mfma_f32_16x16x4_f32", 16, 16, 4, "f32"),
    ("v_mfma_i32_32x32x16_i8", 32, 32, 16, "i8"), ("v_mfma_i32_16x16x32_i8", 16, 16, 32, "i8"),
]  # fmt: skip


@pytest.mark.parametrize("name, m, n, k, kind", MFMA, ids=[row[0] for row in MFMA])
def test_mfma(name, m, n, k, kind):
    random = np.random.default_rng(7)
    left, right = number(random, kind, (m, k)), number(random, kind, (k, n))
    result = np.int32 if kind == "i8" else np.float32
    before = random.integers(-9, 9, (m, n)).astype(result)
    groups, lane = 64 // m, np.arange(64)
    each = k // groups
    places = (lane // m)[:, None] * each + np.arange(each)
    a, b = left[(lane % m)[:, None], places], right[places, (lane % n)[:, None]]
    count = m * n // 64
    register = np.arange(count)
    row = 4 * (64 // n) * (register // 4)[None] + 4 * (lane // n)[:, None] + register[None] % 4
    column = (lane % n)[:, None] + 0 * register
    size = each * np.dtype(KINDS[kind]).itemsize // 4
    span = "v{}" if size == 1 else "v[{}:{}]"
    body = f"{name} a[0:{count - 1}], {span.format(10, 9 + size)}, {span.format(20, 19 + size)}, a[0:{count - 1}]"
    found = run(
        body, v={**registers(10, a), **registers(20, b)}, a=registers(0, before[row, column])
    )
    got = np.stack([found.A[place][0] for place in range(count)], 1).view(result)
    expected = (left.astype(np.float64) @ right.astype(np.float64) + before).astype(result)
    assert np.array_equal(got, expected[row, column])


def test_products_of_8_bit_floats():
    random = np.random.default_rng(8)
    left = (random.integers(-8, 9, (16, 32)) / 4).astype(ml_dtypes.float8_e4m3fnuz)
    right = (random.integers(-8, 9, (32, 16)) / 4).astype(ml_dtypes.float8_e5m2fnuz)
    lane = np.arange(64)
    places = (lane // 16)[:, None] * 8 + np.arange(8)
    a, b = left[(lane % 16)[:, None], places], right[places, (lane % 16)[:, None]]
    found = run(
        "v_mfma_f32_16x16x32_fp8_bf8 v[0:3], v[10:11], v[20:21], 0",
        v={**registers(10, a), **registers(20, b)},
    )
    got = np.stack([found.V[place][0] for place in range(4)], 1).view(np.float32)
    expected = left.astype(np.float64) @ right.astype(np.float64)
    assert np.array_equal(
        got, expected[4 * (lane // 16)[:, None] + np.arange(4), (lane % 16)[:, None]]
    )


@pytest.mark.parametrize("kind, code, width", [("float8_e4m3fn", 0, 8), ("float4_e2m1fn", 4, 4)])
def test_scaled_products_scale_each_block_of_32(kind, code, width):
    """K = 128: group g of lanes holds the scale of block g, whatever items it holds."""
    random = np.random.default_rng(9)
    kind = getattr(ml_dtypes, kind)
    left = random.integers(-4, 5, (16, 128)).astype(np.float32).astype(kind)
    right = random.integers(-4, 5, (128, 16)).astype(np.float32).astype(kind)
    exponents = random.integers(-2, 3, (2, 16, 4))
    lane = np.arange(64)
    group = (lane // 16)[:, None]
    item = np.arange(32)
    if width == 8:
        # The first sixteen bytes of all groups come before the second sixteen.
        places = np.where(item < 16, 16 * group + item, 64 + 16 * group + item - 16)
    else:
        places = 32 * group + item
    a, b = left[(lane % 16)[:, None], places], right[places, (lane % 16)[:, None]]
    if width == 4:
        a, b = packed_pairs(a), packed_pairs(b)
    scales = [(one[lane % 16, lane // 16] + 127).astype(np.uint32) for one in exponents]
    count = width
    body = (f"v_mfma_scale_f32_16x16x128_f8f6f4 v[0:3], v[10:{9 + count}], v[20:{19 + count}], 0, v30, v31 "
            f"op_sel:[0,1,0] op_sel_hi:[0,0,0] cbsz:{code} blgp:{code}")  # fmt: skip
    found = run(
        body,
        "gfx950",
        v={**registers(10, a), **registers(20, b), 30: scales[0], 31: scales[1] << 8},
    )
    got = np.stack([found.V[place][0] for place in range(4)], 1).view(np.float32)
    spread = [np.repeat(2.0**one, 32, axis=1) for one in exponents]
    expected = (left.astype(np.float64) * spread[0]) @ (right.astype(np.float64) * spread[1].T)
    assert np.array_equal(got, expected[4 * group + np.arange(4), (lane % 16)[:, None]])


@pytest.mark.parametrize("target", ["gfx1100", "gfx1201"])
@pytest.mark.parametrize("kind", ["f16", "bf16", "iu8"])
def test_wmma(target, kind):
    random = np.random.default_rng(10)
    own = "i8" if kind == "iu8" else kind
    left, right = number(random, own, (16, 16)), number(random, own, (16, 16))
    result = np.int32 if own == "i8" else np.float32
    before = random.integers(-9, 9, (16, 16)).astype(result)
    lane, register = np.arange(32), np.arange(8)
    if target == "gfx1100":
        a, b = left[lane % 16], right[:, lane % 16].T
        row = 2 * register[None] + (lane // 16)[:, None]
    else:
        places = (lane // 16)[:, None] * 8 + np.arange(8)
        a, b = left[(lane % 16)[:, None], places], right[places, (lane % 16)[:, None]]
        row = register[None] + 8 * (lane // 16)[:, None]
    column = (lane % 16)[:, None] + 0 * register
    size = len(words(a))
    form, more = ("i32", " neg_lo:[1,1,0]") if kind == "iu8" else ("f32", "")
    body = (
        f"v_wmma_{form}_16x16x16_{kind} v[0:7], v[10:{9 + size}], v[20:{19 + size}], v[0:7]{more}"
    )
    found = run(
        body,
        target,
        v={**registers(0, before[row, column]), **registers(10, a), **registers(20, b)},
    )
    got = np.stack([found.V[place][0] for place in range(8)], 1).view(result)
    expected = (left.astype(np.float64) @ right.astype(np.float64) + before).astype(result)
    assert np.array_equal(got, expected[row, column])


def test_a_product_does_not_ask_which_lanes_act():
    one = np.float16(1).view(np.uint16).astype(np.uint32) * 0x10001
    found = run(
        "s_mov_b64 exec, 1\nv_mfma_f32_16x16x16_f16 v[0:3], v[10:11], v[12:13], 0",
        v={10: one, 11: one, 12: one, 13: one},
    )
    assert (found.V[0][0].view(np.float32) == 16).all()


def test_a_product_leaves_the_registers_of_waves_that_are_elsewhere():
    """Wave 1 skips the first of two products that add to one accumulator."""
    one = np.float16(1).view(np.uint16).astype(np.uint32) * 0x10001
    machine = run(
        """
        v_readfirstlane_b32 s0, v0
        s_cmp_lg_u32 s0, 0
        s_cbranch_scc1 .LBB0_2
        v_mfma_f32_16x16x16_f16 v[4:7], v[10:11], v[12:13], v[4:7]
        .LBB0_2:
        v_mfma_f32_16x16x16_f16 v[4:7], v[10:11], v[12:13], v[4:7]
        v_mov_b32_e32 v8, v4
        v_mfma_f32_16x16x16_f16 v[4:7], v[12:13], v[10:11], 0
        """,
        waves=2,
        v={10: one, 11: one, 12: one, 13: one, 4: 0, 5: 0, 6: 0, 7: 0},
    )
    numbers = [machine.V[place].view(np.float32) for place in (8, 4, 7)]
    assert [(got[0] == got[0, 0]).all() for got in numbers] == [True] * 3
    assert [got[:, 0].tolist() for got in numbers] == [[32, 16], [16, 16], [16, 16]]


def test_a_product_that_one_wave_alone_begins_keeps_what_the_other_had():
    one = np.float16(1).view(np.uint16).astype(np.uint32) * 0x10001
    machine = run(
        """
        v_readfirstlane_b32 s0, v0
        s_cmp_lg_u32 s0, 0
        s_cbranch_scc1 .LBB0_2
        v_mfma_f32_16x16x16_f16 v[4:7], v[10:11], v[12:13], 0
        .LBB0_2:
        s_nop 0
        """,
        waves=2,
        v={10: one, 11: one, 12: one, 13: one, 4: 7, 5: 8, 6: 9, 7: 10},
    )
    assert [int(machine.V[place][1, 3]) for place in (4, 5, 6, 7)] == [7, 8, 9, 10]
    assert (machine.V[5][0].view(np.float32) == 16).all()
