"""Matmuls with scales, and with waves or lanes that take no part; test_layouts.py has the places of elements."""

import ml_dtypes
import numpy as np
import pytest
from amd_running import run


def words(items):
    """(lanes, items) -> raw words by register."""
    raw = np.ascontiguousarray(items).view(np.uint32)
    return [raw[:, place] for place in range(raw.shape[1])]


def registers(first, items):
    return {first + place: word for place, word in enumerate(words(items))}


def packed(items, width):
    """Items of four or six bits without gaps, the first in the lowest bits."""
    bits = np.unpackbits(items.view(np.uint8)[..., None], axis=-1, bitorder="little")
    return np.packbits(bits[..., :width].reshape(len(items), -1), axis=-1, bitorder="little")


SMALL = [
    ("float8_e4m3fn", 0, 8), ("float8_e5m2", 1, 8), ("float6_e2m3fn", 2, 6), ("float6_e3m2fn", 3, 6),
    ("float4_e2m1fn", 4, 4),
]  # fmt: skip


@pytest.mark.parametrize("kind, code, width", SMALL)
def test_scaled_products_scale_each_block_of_32(kind, code, width):
    """K = 128: group g of lanes holds the scale of block g, whatever items it holds."""
    random = np.random.default_rng(9)
    kind = getattr(ml_dtypes, kind)
    left = (random.integers(-12, 13, (16, 128)) / 2).astype(np.float32).astype(kind)
    right = (random.integers(-12, 13, (128, 16)) / 2).astype(np.float32).astype(kind)
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
    if width < 8:
        a, b = packed(a, width), packed(b, width)
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
