"""Values across lanes: DPP, permutes, swizzles, readlane."""

import numpy as np
import pytest
from amd_running import edges, lanes_of, run

LANE = np.arange(64)
ROW = LANE // 16 * 16
# Modifier -> from which lane each lane reads; -1 where there is none.
DPP = [
    ("quad_perm:[1,0,3,2]", LANE ^ 1), ("quad_perm:[2,2,2,2]", LANE // 4 * 4 + 2),
    ("row_shr:1", np.where(LANE % 16 >= 1, LANE - 1, -1)), ("row_shl:4", np.where(LANE % 16 < 12, LANE + 4, -1)),
    ("row_ror:8", ROW + (LANE - 8) % 16), ("row_mirror", ROW + 15 - LANE % 16), ("row_half_mirror", LANE ^ 7),
    ("row_newbcast:3", ROW + 3), ("wave_shr:1", LANE - 1), ("row_bcast:15", np.where(LANE > 15, ROW - 1, -1)),
    ("row_bcast:31", np.where(LANE > 31, 31, -1)),
]  # fmt: skip


@pytest.mark.parametrize("modifier, source", DPP, ids=[row[0] for row in DPP])
def test_dpp_reads_from_another_lane(modifier, source):
    values = LANE * 3 + 1
    found = run(
        f"v_mov_b32_dpp v1, v2 {modifier} row_mask:0xf bank_mask:0xf", v={1: 999, 2: values}
    )
    assert np.array_equal(lanes_of(found, 1), np.where(source < 0, 999, values[source]))
    found = run(
        f"v_mov_b32_dpp v1, v2 {modifier} row_mask:0xf bank_mask:0xf bound_ctrl:1",
        v={1: 999, 2: values},
    )
    assert np.array_equal(lanes_of(found, 1), np.where(source < 0, 0, values[source]))


def test_dpp_writes_the_rows_and_banks_of_its_masks():
    found = run(
        "v_add_u32_dpp v1, v2, v3 row_mirror row_mask:0xa bank_mask:0x3",
        v={1: 999, 2: LANE, 3: 100},
    )
    writes = (LANE // 16 % 2 == 1) & (LANE % 16 < 8)
    assert np.array_equal(lanes_of(found, 1), np.where(writes, ROW + 15 - LANE % 16 + 100, 999))


def test_a_lane_that_is_switched_off_gives_nothing():
    found = run(
        "s_mov_b64 exec, 0xf0f0\nv_mov_b32_dpp v1, v2 row_ror:1 row_mask:0xf bank_mask:0xf",
        v={1: 999, 2: LANE},
    )
    active = np.array([lane < 16 and 0xF0F0 >> lane & 1 for lane in range(64)], bool)
    source = ROW + (LANE - 1) % 16
    assert np.array_equal(lanes_of(found, 1), np.where(active & active[source], source, 999))


def test_lanes_read_and_write_each_other_through_lds():
    target = (LANE * 5 + 3) % 64
    body = (
        "ds_bpermute_b32 v3, v1, v2\nds_permute_b32 v4, v1, v2\n"
        "ds_swizzle_b32 v5, v2 offset:swizzle(SWAP,16)\n"
        "ds_swizzle_b32 v6, v2 offset:swizzle(BROADCAST,8,3)\nds_swizzle_b32 v7, v2 offset:0x801f\n"
        "s_waitcnt lgkmcnt(0)"
    )
    found = run(body, v={1: target * 4, 2: LANE + 100})
    assert np.array_equal(lanes_of(found, 3), target + 100)
    assert np.array_equal(lanes_of(found, 4)[target], LANE + 100)
    assert np.array_equal(lanes_of(found, 5), (LANE ^ 16) + 100)
    assert np.array_equal(lanes_of(found, 6), LANE // 8 * 8 + 3 + 100)


def test_one_lane_is_read_and_written():
    body = (
        "v_readlane_b32 s2, v1, 5\nv_readfirstlane_b32 s3, v1\nv_writelane_b32 v2, s2, 63\n"
        "s_mov_b64 exec, 0xf0\nv_readfirstlane_b32 s4, v1"
    )
    found = run(body, v={1: LANE + 7, 2: 0})
    assert [int(found.r(number)[0, 0]) for number in (2, 3, 4)] == [12, 7, 11]
    assert lanes_of(found, 2)[63] == 12 and not lanes_of(found, 2)[:63].any()


def test_rows_change_places():
    found = run("v_permlane32_swap_b32 v1, v2", "gfx950", v={1: LANE, 2: LANE + 100})
    assert list(lanes_of(found, 1)) == [*range(32), *range(100, 132)]
    assert list(lanes_of(found, 2)) == [*range(32, 64), *range(132, 164)]
    found = run("v_permlane16_swap_b32 v1, v2", "gfx950", v={1: LANE, 2: LANE + 100})
    assert list(lanes_of(found, 1)[16:32]) == list(range(100, 116))
    assert list(lanes_of(found, 2)[:16]) == list(range(16, 32))


def test_rdna_permutes_a_row_by_selectors():
    small = np.arange(32)
    found = run(
        "v_permlanex16_b32 v1, v2, s2, s3",
        "gfx1100",
        v={1: 0, 2: small},
        s={2: 0x76543210, 3: 0xFEDCBA98},
    )
    assert np.array_equal(lanes_of(found, 1), small ^ 16)
    found = run(
        "v_permlane16_b32 v1, v2, s2, s3", "gfx1100", v={1: 0, 2: small}, s={2: 0, 3: 0x11111111}
    )
    assert np.array_equal(lanes_of(found, 1), small // 16 * 16 + (small % 16 >= 8))
    # op_sel says what a lane that is switched off gives: its value, 0, or nothing.
    for modifier, value in (("op_sel:[1,0]", 16), ("op_sel:[0,1]", 0), ("", 99)):
        body = f"s_mov_b32 exec_lo, 1\nv_permlanex16_b32 v1, v2, s2, s3 {modifier}"
        found = run(body, "gfx1100", v={1: 99, 2: small}, s={2: 0, 3: 0})
        assert lanes_of(found, 1)[0] == value and lanes_of(found, 1)[1] == 99
    found = run("v_mov_b32_dpp v1, v2 dpp8:[7,6,5,4,3,2,1,0]", "gfx1100", v={1: 0, 2: small})
    assert np.array_equal(lanes_of(found, 1), small ^ 7)


def test_lanes_below_are_counted():
    body = (
        "v_mbcnt_lo_u32_b32 v1, -1, 0\nv_mbcnt_hi_u32_b32 v1, -1, v1\nv_mbcnt_lo_u32_b32 v2, s2, 0"
    )
    found = run(body, s={2: 0x0F})
    assert np.array_equal(lanes_of(found, 1), LANE) and list(lanes_of(found, 2)[:7]) == [
        0,
        1,
        2,
        3,
        4,
        4,
        4,
    ]


def test_accumulators_are_moved():
    found = run(
        "v_accvgpr_write_b32 a1, v1\nv_accvgpr_mov_b32 a2, a1\nv_accvgpr_read_b32 v2, a2",
        v={1: LANE},
    )
    assert np.array_equal(lanes_of(found, 2), LANE)


def test_transposing_loads_hand_out_columns():
    halves = np.arange(256, dtype=np.uint16)
    words = halves.view(np.uint32)
    body = (
        "v_lshlrev_b32_e32 v1, 3, v0\nds_write_b64 v1, v[2:3]\ns_waitcnt lgkmcnt(0)\n"
        "ds_read_b64_tr_b16 v[4:5], v1\ns_waitcnt lgkmcnt(0)"
    )
    found = run(body, "gfx950", v={2: words[0::2], 3: words[1::2]}, shared=512)
    pairs = np.stack([lanes_of(found, 4), lanes_of(found, 5)], 1).view(np.uint16)
    # Sixteen lanes hold four rows of sixteen halves; each gets four of a column.
    block = halves[:64].reshape(4, 16)
    assert np.array_equal(pairs[:16], block.T)


@pytest.mark.parametrize(
    "selector", [0x05040100, 0x07060302, 0x00010203, 0x0C0D080B, 0x0A090504, 0x03020C0C, 0x010500FF]
)
def test_bytes_are_chosen_alike_by_a_scalar_and_by_each_lane(selector):
    a, b = edges(seed=3), edges(seed=4)
    body = "v_perm_b32 v3, v1, v2, s0\nv_perm_b32 v4, v1, v2, v5"
    found = run(body, v={1: a, 2: b, 5: selector}, s={0: selector})
    expected = [bits_of_perm(int(x), int(y), selector) for x, y in zip(a, b)]
    assert lanes_of(found, 3).tolist() == expected
    assert lanes_of(found, 4).tolist() == expected


def bits_of_perm(a, b, selector):
    data, out = a << 32 | b, 0
    for byte in range(4):
        which = selector >> 8 * byte & 0xFF
        if which >= 12:
            value = 0 if which == 12 else 0xFF
        elif which >= 8:
            value = 0xFF * (data >> (15, 31, 47, 63)[which - 8] & 1)
        else:
            value = data >> 8 * which & 0xFF
        out |= value << 8 * byte
    return out


def test_of_two_lanes_that_hand_to_one_the_later_wins():
    found = run(
        "ds_permute_b32 v3, v1, v2\ns_mov_b64 exec, 7\nds_permute_b32 v4, v6, v2\ns_waitcnt lgkmcnt(0)",
        v={1: 20, 2: LANE + 100, 4: 1, 6: 4},
    )
    assert lanes_of(found, 3)[[4, 5, 6]].tolist() == [0, 163, 0]
    assert lanes_of(found, 4)[[0, 1, 2, 5]].tolist() == [0, 102, 0, 1]
