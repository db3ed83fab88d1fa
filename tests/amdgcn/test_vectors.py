"""Vector arithmetic against Python's integers and numpy's floats, and what encodings do to sources and results."""

import numpy as np
import pytest
from amd_running import edges, f32, lanes_of, run

A, B, C = edges(seed=1), edges(seed=2), edges(seed=3)
BIG = 0xFFFFFFFF


def signed(value, bits=32):
    return value - (1 << bits) if value >> (bits - 1) else value


def field(value, offset, width):
    return (value >> (offset & 31)) & ((1 << (width & 31)) - 1)


def leading(value):
    return 32 - value.bit_length() if value else BIG


# Instruction, meaning of (a, b, c) as Python's integers.
INTEGERS = [
    ("v_and_b32_e32 v4, v1, v2", lambda a, b, c: a & b), ("v_or_b32_e32 v4, v1, v2", lambda a, b, c: a | b),
    ("v_xor_b32_e32 v4, v1, v2", lambda a, b, c: a ^ b), ("v_not_b32_e32 v4, v1", lambda a, b, c: ~a),
    ("v_and_or_b32 v4, v1, v2, v3", lambda a, b, c: a & b | c),
    ("v_or3_b32 v4, v1, v2, v3", lambda a, b, c: a | b | c),
    ("v_bfi_b32 v4, v1, v2, v3", lambda a, b, c: a & b | ~a & c), ("v_bfe_u32 v4, v1, v2, v3", field),
    ("v_bfrev_b32_e32 v4, v1", lambda a, b, c: int(f"{a:032b}"[::-1], 2)),
    ("v_bcnt_u32_b32 v4, v1, v2", lambda a, b, c: bin(a).count("1") + b),
    ("v_ffbh_u32_e32 v4, v1", lambda a, b, c: leading(a)),
    ("v_ffbl_b32_e32 v4, v1", lambda a, b, c: (a & -a).bit_length() - 1 if a else BIG),
    ("v_alignbit_b32 v4, v1, v2, v3", lambda a, b, c: (a << 32 | b) >> (c & 31)),
    ("v_lshlrev_b32_e32 v4, v1, v2", lambda a, b, c: b << (a & 31)),
    ("v_lshrrev_b32_e32 v4, v1, v2", lambda a, b, c: b >> (a & 31)),
    ("v_ashrrev_i32_e32 v4, v1, v2", lambda a, b, c: signed(b) >> (a & 31)),
    ("v_lshl_add_u32 v4, v1, v2, v3", lambda a, b, c: (a << (b & 31)) + c),
    ("v_add_lshl_u32 v4, v1, v2, v3", lambda a, b, c: ((a + b) & BIG) << (c & 31)),
    ("v_lshl_or_b32 v4, v1, v2, v3", lambda a, b, c: a << (b & 31) | c),
    ("v_xad_u32 v4, v1, v2, v3", lambda a, b, c: (a ^ b) + c),
    ("v_add3_u32 v4, v1, v2, v3", lambda a, b, c: a + b + c),
    ("v_add_u32_e32 v4, v1, v2", lambda a, b, c: a + b), ("v_sub_u32_e32 v4, v1, v2", lambda a, b, c: a - b),
    ("v_subrev_u32_e32 v4, v1, v2", lambda a, b, c: b - a), ("v_mul_lo_u32 v4, v1, v2", lambda a, b, c: a * b),
    ("v_mul_hi_u32 v4, v1, v2", lambda a, b, c: a * b >> 32),
    ("v_mul_hi_i32 v4, v1, v2", lambda a, b, c: signed(a) * signed(b) >> 32),
    ("v_mul_u32_u24_e32 v4, v1, v2", lambda a, b, c: (a & 0xFFFFFF) * (b & 0xFFFFFF)),
    ("v_mad_u32_u24 v4, v1, v2, v3", lambda a, b, c: (a & 0xFFFFFF) * (b & 0xFFFFFF) + c),
    ("v_max_u32_e32 v4, v1, v2", lambda a, b, c: max(a, b)), ("v_min_u32_e32 v4, v1, v2", lambda a, b, c: min(a, b)),
    ("v_max_i32_e32 v4, v1, v2", lambda a, b, c: max(signed(a), signed(b))),
    ("v_min_i32_e32 v4, v1, v2", lambda a, b, c: min(signed(a), signed(b))),
    ("v_med3_i32 v4, v1, v2, v3", lambda a, b, c: sorted(map(signed, (a, b, c)))[1]),
    ("v_sub_u32_e64 v4, v1, v2 clamp", lambda a, b, c: max(a - b, 0)),
    ("v_add_u32_e64 v4, v1, v2 clamp", lambda a, b, c: min(a + b, BIG)),
    ("v_add_i32 v4, v1, v2 clamp", lambda a, b, c: sorted((signed(a) + signed(b), -(1 << 31), (1 << 31) - 1))[1]),
    ("v_mul_lo_u16_e32 v4, v1, v2", lambda a, b, c: a * b & 0xFFFF),
    ("v_max_u16_e32 v4, v1, v2", lambda a, b, c: max(a & 0xFFFF, b & 0xFFFF)),
    ("v_lshlrev_b16_e32 v4, v1, v2", lambda a, b, c: b << (a & 15) & 0xFFFF),
    ("v_perm_b32 v4, v1, v2, 0x00010405", lambda a, b, c: perm(a, b)),
]  # fmt: skip


def perm(a, b):
    """By the selector 0x00010405: bytes 0 to 3 are of b, 4 to 7 of a."""
    whole = (a << 32 | b).to_bytes(8, "little")
    return int.from_bytes(bytes(whole[place] for place in (5, 4, 1, 0)), "little")


@pytest.mark.parametrize("line, meaning", INTEGERS, ids=[line.split()[0] for line, _ in INTEGERS])
def test_an_instruction_of_integers(line, meaning):
    expected = [meaning(int(a), int(b), int(c)) & BIG for a, b, c in zip(A, B, C)]
    assert list(lanes_of(run(line, v={1: A, 2: B, 3: C}), 4)) == expected


def test_signed_bit_fields_fill_with_the_sign():
    values = np.array([0x8000, 0xF000, 0x12345678] + [0] * 61, np.uint32)
    found = lanes_of(run("v_bfe_i32 v4, v1, 12, 4", v={1: values}), 4)
    assert list(found[:3]) == [0xFFFFFFF8, 0xFFFFFFFF, 5]
    assert lanes_of(run("v_bfe_i32 v4, v1, 28, 8", v={1: 0x90000000}), 4)[0] == 0xFFFFFFF9


def test_carries_go_through_a_mask():
    body = "v_add_co_u32_e32 v4, vcc, v1, v2\nv_addc_co_u32_e32 v5, vcc, v3, v2, vcc"
    found = run(body, v={1: A, 2: B, 3: C})
    for lane in range(64):
        total = (int(A[lane]) | int(C[lane]) << 32) + (int(B[lane]) | int(B[lane]) << 32)
        assert (
            lanes_of(found, 4)[lane] == total & BIG
            and lanes_of(found, 5)[lane] == total >> 32 & BIG
        )
    found = run(
        "v_sub_co_u32_e32 v4, vcc, v1, v2\nv_subb_co_u32_e32 v5, vcc, v3, v2, vcc",
        v={1: A, 2: B, 3: C},
    )
    for lane in range(64):
        total = (int(A[lane]) | int(C[lane]) << 32) - (int(B[lane]) | int(B[lane]) << 32)
        assert lanes_of(found, 5)[lane] == total >> 32 & BIG


def test_products_of_64_bits():
    found = run("v_mad_u64_u32 v[4:5], s[2:3], v1, v2, v[6:7]", v={1: A, 2: B, 6: C, 7: A})
    for lane in range(64):
        total = int(A[lane]) * int(B[lane]) + (int(C[lane]) | int(A[lane]) << 32)
        low, high = int(lanes_of(found, 4)[lane]), int(lanes_of(found, 5)[lane])
        assert low | high << 32 == total & (2**64 - 1)
    found = run("v_lshl_add_u64 v[4:5], v[1:2], 3, v[6:7]", v={1: A, 2: B, 6: C, 7: A})
    total = ((int(A[5]) | int(B[5]) << 32) * 8 + (int(C[5]) | int(A[5]) << 32)) & (2**64 - 1)
    assert lanes_of(found, 4)[5] == total & BIG and lanes_of(found, 5)[5] == total >> 32


FLOATS = [
    ("v_add_f32_e32 v4, v1, v2", lambda a, b, c: a + b), ("v_sub_f32_e32 v4, v1, v2", lambda a, b, c: a - b),
    ("v_subrev_f32_e32 v4, v1, v2", lambda a, b, c: b - a), ("v_mul_f32_e32 v4, v1, v2", lambda a, b, c: a * b),
    ("v_fma_f32 v4, v1, v2, v3", lambda a, b, c: (a.astype("f8") * b + c).astype("f4")),
    ("v_max_f32_e32 v4, v1, v2", lambda a, b, c: np.fmax(a, b)),
    ("v_min_f32_e32 v4, v1, v2", lambda a, b, c: np.fmin(a, b)),
    ("v_max3_f32 v4, v1, v2, v3", lambda a, b, c: np.fmax(np.fmax(a, b), c)),
    ("v_floor_f32_e32 v4, v1", lambda a, b, c: np.floor(a)), ("v_rndne_f32_e32 v4, v1", lambda a, b, c: np.rint(a)),
    ("v_trunc_f32_e32 v4, v1", lambda a, b, c: np.trunc(a)),
    ("v_rcp_f32_e32 v4, v1", lambda a, b, c: np.float32(1) / a),
    ("v_sqrt_f32_e32 v4, v1", lambda a, b, c: np.sqrt(a)),
    ("v_exp_f32_e32 v4, v1", lambda a, b, c: np.exp2(a.astype("f8")).astype("f4")),
    ("v_add_f32_e64 v4, -v1, |v2|", lambda a, b, c: -a + np.abs(b)),
    ("v_mul_f32_e64 v4, v1, v2 mul:2", lambda a, b, c: a * b),
    ("v_add_f32_e64 v4, v1, v2 clamp", lambda a, b, c: np.clip(a + b, 0, 1)),
    ("v_fma_f32 v4, -v1, v2, |v3|", lambda a, b, c: (-a.astype("f8") * b + np.abs(c)).astype("f4")),
    ("v_ldexp_f32 v4, v1, 3", lambda a, b, c: a * 8),
    ("v_med3_f32 v4, v1, v2, v3", lambda a, b, c: np.sort([a, b, c], 0)[1]),
    ("v_cvt_f16_f32_e32 v4, v1\nv_cvt_f32_f16_e32 v4, v4", lambda a, b, c: a.astype("f2").astype("f4")),
    ("v_cvt_f32_i32_e32 v4, v1", lambda a, b, c: a.view("i4").astype("f4")),
    ("v_cvt_f32_u32_e32 v4, v1", lambda a, b, c: a.view("u4").astype("f4")),
    ("v_cvt_i32_f32_e32 v5, v1\nv_cvt_f32_i32_e32 v4, v5", lambda a, b, c: np.trunc(a)),
    ("v_cvt_f32_ubyte1_e32 v4, v1", lambda a, b, c: (a.view("u4") >> 8 & 255).astype("f4")),
]  # fmt: skip


@pytest.mark.parametrize("line, meaning", FLOATS, ids=[line.split()[0] for line, _ in FLOATS])
def test_an_instruction_of_floats(line, meaning):
    random = np.random.default_rng(4)
    a, b, c = (random.normal(size=64).astype(np.float32) * 4 for _ in range(3))
    a = np.abs(a) if "sqrt" in line else a
    with np.errstate(all="ignore"):
        expected = meaning(a, b, c).astype(np.float32)
    found = lanes_of(run(line, v={1: a.view("u4"), 2: b.view("u4"), 3: c.view("u4")}), 4)
    assert np.array_equal(found.view(np.float32), expected)


def test_a_sum_of_products_is_rounded_once():
    one = np.float32(1) + np.float32(2.0**-12)
    exact = float(one) * float(one) - 1.0
    found = lanes_of(run("v_fma_f32 v4, v1, v1, -1.0", v={1: f32(one)[0]}), 4)
    assert found.view(np.float32)[0] == np.float32(exact) != np.float32(one * one) - 1


def test_a_signalling_nan_is_not_passed_over():
    found = run("v_max_f32_e32 v4, v1, v2", v={1: 0x7F800001, 2: f32(1.0)[0]})
    assert np.isnan(lanes_of(found, 4).view(np.float32)[0])
    found = run("v_max_f32_e32 v4, v1, v2", v={1: 0x7FC00000, 2: f32(1.0)[0]})
    assert lanes_of(found, 4).view(np.float32)[0] == 1
    zeros = run("v_max_f32_e32 v4, v1, v2\nv_min_f32_e32 v5, v1, v2", v={1: 0, 2: 0x80000000})
    assert lanes_of(zeros, 4)[0] == 0 and lanes_of(zeros, 5)[0] == 0x80000000


def test_division_is_right_for_numbers_far_apart():
    """The steps that a compiler emits for a / b."""
    body = """v_div_scale_f32 v3, s[2:3], v2, v2, v1
        v_rcp_f32_e32 v4, v3
        v_fma_f32 v5, -v3, v4, 1.0
        v_fma_f32 v4, v5, v4, v4
        v_div_scale_f32 v5, vcc, v1, v2, v1
        v_mul_f32_e32 v6, v5, v4
        v_fma_f32 v7, -v3, v6, v5
        v_fma_f32 v6, v7, v4, v6
        v_fma_f32 v3, -v3, v6, v5
        v_div_fmas_f32 v3, v3, v4, v6
        v_div_fixup_f32 v3, v3, v2, v1"""
    special = np.array(
        [0, 1, 3, -7.5, 1e38, 3e38, 1e-38, 1e-44, 1e-41, 1e-10, 2e-38, 1e-5, np.inf, np.nan],
        np.float32,
    )
    random = np.random.default_rng(6)
    far = (random.normal(size=50) * 2.0 ** random.integers(-140, 127, 50)).astype(np.float32)
    tops, bottoms = (one.reshape(-1) for one in np.meshgrid(*[np.concatenate([special, far])] * 2))
    v = {1: tops.view("u4").reshape(64, 64), 2: bottoms.view("u4").reshape(64, 64)}
    found = run(body, v=v, grid=(64,)).V[3].view(np.float32).reshape(-1)
    with np.errstate(all="ignore"):
        expected = tops / bottoms
    # Quotients below the normal numbers may be rounded twice.
    normal = ~(np.abs(expected) < 2.0**-125) | (expected == 0)
    assert np.array_equal(found[normal], expected[normal], equal_nan=True)
    assert np.abs(found[~normal] - expected[~normal]).max() <= 2.0**-148


def test_16_bits_clear_the_upper_half_on_gfx9_and_keep_it_later():
    found = {
        target: lanes_of(run(line, target, v={1: 5, 2: 6, 4: 0xABCD0000}), 4)[0]
        for target, line in (
            ("gfx942", "v_add_u16_e32 v4, v1, v2"),
            ("gfx1100", "v_add_nc_u16 v4, v1, v2"),
        )
    }
    assert found == {"gfx942": 11, "gfx1100": 0xABCD000B}
    found = run("v_add_nc_u16 v4.h, v1.l, v2.l", "gfx1201", v={1: 5, 2: 6, 4: 0x1234})
    assert lanes_of(found, 4)[0] == 0x000B1234


def test_halves_are_chosen_by_op_sel_and_sdwa():
    found = run(
        "v_pk_add_u16 v4, v1, v2 op_sel:[1,0] op_sel_hi:[0,1]", v={1: 0x00010002, 2: 0x00300040}
    )
    assert lanes_of(found, 4)[0] == (0x0030 + 2) << 16 | (0x0040 + 1)
    found = run("v_add_u32_sdwa v4, v1, v2 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_1 src1_sel:WORD_1",
                v={1: 0x1234, 2: 0x00050000})  # fmt: skip
    assert lanes_of(found, 4)[0] == 0x12 + 5
    found = run("v_add_u32_sdwa v4, sext(v1), v2 dst_sel:BYTE_2 dst_unused:UNUSED_PRESERVE "
                "src0_sel:BYTE_0 src1_sel:DWORD",
                v={1: 0xFF, 2: 3, 4: 0xAABBCCDD})  # fmt: skip
    assert lanes_of(found, 4)[0] == 0xAA02CCDD


def test_packed_floats_read_each_half_by_itself():
    found = run("v_pk_fma_f32 v[4:5], v[1:2], v[6:7], v[8:9] op_sel:[1,0,0] op_sel_hi:[0,1,1] neg_lo:[0,0,1]",
                v={1: f32(2)[0], 2: f32(3)[0], 6: f32(5)[0], 7: f32(7)[0], 8: f32(1)[0], 9: f32(10)[0]})  # fmt: skip
    assert (
        lanes_of(found, 4).view("f4")[0] == 3 * 5 - 1
        and lanes_of(found, 5).view("f4")[0] == 2 * 7 + 10
    )
    found = run("v_pk_mul_f16 v4, v1, 2.0 op_sel_hi:[1,0]", v={1: 0x3C004000})
    assert lanes_of(found, 4)[0] == 0x40004400
    found = run(
        "v_fma_mixlo_f16 v4, v1, v2, v3 op_sel:[1,0,0] op_sel_hi:[1,0,0]",
        v={1: 0x40000000, 2: f32(1.5)[0], 3: 0, 4: 0xAAAA0000},
    )
    assert lanes_of(found, 4)[0] == 0xAAAA4200


def test_comparisons_make_masks_of_the_lanes_that_act():
    body = (
        "v_cmp_gt_f32_e32 vcc, v1, v2\ns_mov_b64 exec, 3\nv_cmp_lt_u32_e64 s[4:5], 0, v2\n"
        "s_mov_b64 exec, -1\nv_cndmask_b32_e32 v4, v1, v2, vcc"
    )
    a = f32(*range(64))
    found = run(body, v={1: a, 2: f32(32.0)[0]})
    assert found.r(106)[0, 0] == 0 and found.r(107)[0, 0] == 0xFFFFFFFE
    assert found.r(4)[0, 0] == 3 and found.r(5)[0, 0] == 0
    assert list(lanes_of(found, 4).view("f4")) == [*range(33), *[32.0] * 31]
    nan = run("v_cmp_o_f32_e32 vcc, v1, v1\nv_cmp_neq_f32_e64 s[2:3], v1, v1", v={1: 0x7FC00000})
    assert nan.r(106)[0, 0] == 0 and nan.r(2)[0, 0] == BIG
    # 0x3: signalling or quiet NaN; 0x60: either zero.
    found = run(
        "v_cmp_class_f32_e64 s[2:3], v1, 3\nv_cmp_class_f32_e64 s[4:5], v2, 0x60",
        v={1: 0x7FC00000, 2: 0x80000000},
    )
    assert found.r(2)[0, 0] == BIG and found.r(4)[0, 0] == BIG


def test_any_function_of_three_bits():
    for table in (0x00, 0x96, 0xE8, 0x1B, 0xFF):
        found = lanes_of(
            run(f"v_bitop3_b32 v4, v1, v2, v3 bitop3:{table:#x}", "gfx950", v={1: A, 2: B, 3: C}), 4
        )
        expected = 0
        for bit in range(32):
            index = (int(A[9]) >> bit & 1) * 4 + (int(B[9]) >> bit & 1) * 2 + (int(C[9]) >> bit & 1)
            expected |= (table >> index & 1) << bit
        assert found[9] == expected


@pytest.mark.parametrize("target, fnuz", [("gfx942", True), ("gfx950", False)])
def test_8_bit_floats_are_of_the_kind_of_the_target(target, fnuz):
    import ml_dtypes

    kind = ml_dtypes.float8_e4m3fnuz if fnuz else ml_dtypes.float8_e4m3fn
    codes = np.arange(64, dtype=np.uint8) * 4 + 1
    words = codes.astype(np.uint32) << 8
    found = lanes_of(
        run("v_cvt_f32_fp8_sdwa v4, v1 src0_sel:BYTE_1", target, v={1: words}), 4
    ).view(np.float32)
    assert np.array_equal(found, codes.view(kind).astype(np.float32), equal_nan=True)
    numbers = np.random.default_rng(5).normal(size=64).astype(np.float32) * 20
    packed = lanes_of(
        run("v_cvt_pk_fp8_f32 v4, v1, v2", target, v={1: numbers.view("u4"), 2: 0, 4: 0}), 4
    )
    assert np.array_equal((packed & 255).astype(np.uint8), numbers.astype(kind).view(np.uint8))


def test_bfloat16_is_rounded_to_even():
    found = lanes_of(
        run("v_cvt_pk_bf16_f32 v4, v1, v2", "gfx950", v={1: 0x3F808000, 2: 0x3F818000}), 4
    )
    assert found[0] == 0x3F823F80


ONES = 0x3C003C00
# A snippet, its target and registers -> v4 (and v5) after it.
SIX_AND_ONE = {1: f32(2)[0], 2: f32(3)[0], 3: f32(1)[0], 4: 0xAAAABBBB}
SNIPPETS = [
    ("v_fma_mixlo_f16 v4, v1, v2, v3", "gfx942", SIX_AND_ONE, [0xAAAA4700]),
    ("v_fma_mixhi_f16 v4, v1, v2, v3", "gfx942", SIX_AND_ONE, [0x4700BBBB]),
    ("v_fma_mix_f32 v4, v1, v2, v3", "gfx942", SIX_AND_ONE, [f32(7)[0]]),
    ("v_fmac_f32_e32 v4, v1, v2", "gfx942", {1: f32(2)[0], 2: f32(3)[0], 4: f32(10)[0]}, [f32(16)[0]]),
    ("v_fmac_f32_e64 v4, -v1, |v2|", "gfx942", {1: f32(2)[0], 2: f32(-3)[0], 4: f32(10)[0]}, [f32(4)[0]]),
    ("v_fmac_f16_e32 v4, v1, v2", "gfx1100", {1: ONES, 2: 0x4000, 4: 0x3C00}, [0x4200]),
    ("v_cvt_pk_f32_fp8_e32 v[4:5], v1", "gfx950", {1: 0x40384038}, [f32(1)[0], f32(2)[0]]),
    ("v_cvt_pk_f32_fp8_sdwa v[4:5], v1 src0_sel:WORD_1", "gfx950", {1: 0x40380000}, [f32(1)[0], f32(2)[0]]),
    ("v_cvt_pk_f32_fp8_sdwa v[4:5], v1 src0_sel:WORD_0", "gfx950", {1: 0x00003840}, [f32(2)[0], f32(1)[0]]),
    ("v_cvt_pk_f32_fp8_e64 v[4:5], v1 op_sel:[1,0]", "gfx1200", {1: 0x40380000}, [f32(1)[0], f32(2)[0]]),
    ("v_cvt_pk_f32_bf8_e32 v[4:5], v1", "gfx950", {1: 0x403C}, [f32(1)[0], f32(2)[0]]),
    ("v_cvt_pk_fp8_f32 v4, v1, v2", "gfx950", {1: f32(1)[0], 2: f32(2)[0], 4: 0xAAAABBBB}, [0xAAAA4038]),
    ("v_cvt_pk_fp8_f32 v4, v1, v2 op_sel:[0,0,1]", "gfx950", {1: f32(1)[0], 2: f32(2)[0], 4: 0xAAAABBBB}, [0x4038BBBB]),
    ("v_cvt_pk_bf8_f32 v4, v1, v2", "gfx950", {1: f32(1)[0], 2: f32(2)[0], 4: 0}, [0x403C]),
    ("v_pk_add_f16 v4, v1, v2 neg_lo:[0,1]", "gfx942", {1: ONES, 2: ONES}, [0x40000000]),
    ("v_pk_add_f16 v4, v1, v2 neg_hi:[0,1]", "gfx942", {1: ONES, 2: ONES}, [0x00004000]),
    ("v_bitop3_b32 v4, v1, v2, v3", "gfx950", {1: BIG, 2: BIG, 3: BIG}, [0]),
    ("v_min_num_f32_e32 v4, v1, v2", "gfx1200", {1: 0, 2: 0x80000000}, [0x80000000]),
    ("v_min_num_f32_e32 v4, v1, v2", "gfx1200", {1: 0x80000000, 2: 0}, [0x80000000]),
    ("v_max_num_f32_e32 v4, v1, v2", "gfx1200", {1: 0x80000000, 2: 0}, [0]),
    ("v_max_num_f32_e32 v4, v1, v2", "gfx1200", {1: 0, 2: 0x80000000}, [0]),
    ("v_min_num_f32_e32 v4, v1, v2", "gfx1200", {1: f32(3)[0], 2: f32(2)[0]}, [f32(2)[0]]),
    ("v_min_num_f32_e32 v4, v1, v2", "gfx1200", {1: 0x7FC00000, 2: f32(2)[0]}, [f32(2)[0]]),
    ("v_max_num_f32_e32 v4, v1, v2", "gfx1200", {1: f32(-1)[0], 2: 0x7FC00000}, [f32(-1)[0]]),
    ("v_div_fixup_f16 v4, v1, v2, v3", "gfx942", {1: 0x3C00, 2: 0, 3: 0x3C00}, [0x7C00]),
    ("v_div_fixup_f16 v4, v1, v2, v3", "gfx942", {1: 0x3C00, 2: 0x8000, 3: 0x3C00}, [0xFC00]),
    ("v_div_fixup_f16 v4, v1, v2, v3", "gfx942", {1: 0x3C00, 2: 0x4000, 3: 0}, [0]),
    ("v_div_fixup_f16 v4, v1, v2, v3", "gfx942", {1: 0x3C00, 2: 0x7C00, 3: 0x4000}, [0]),
    ("v_div_fixup_f16 v4, v1, v2, v3", "gfx942", {1: 0x3C00, 2: 0xC000, 3: 0x4000}, [0xBC00]),
    ("v_div_fixup_f16 v4, v1, v2, v3", "gfx942", {1: 0xBC00, 2: 0x4000, 3: 0x4000}, [0x3C00]),
]  # fmt: skip


@pytest.mark.parametrize("body, target, registers, results", SNIPPETS)
def test_snippets_by_hand(body, target, registers, results):
    result = run(body, target, v={number: int(bits) for number, bits in registers.items()})
    got = [int(lanes_of(result, 4 + place)[0]) for place in range(len(results))]
    # Sixteen bits alone are the low half.
    mask = 0xFFFF if "_f16_e32" in body or "fixup_f16" in body else BIG
    assert [hex(bits & mask) for bits in got] == [hex(int(bits)) for bits in results]


@pytest.mark.parametrize(
    "compare, a, b, holds",
    [
        ("s_cmp_lt_f32", 1.0, 2.0, True), ("s_cmp_lt_f32", 2.0, 1.0, False), ("s_cmp_lt_f32", np.nan, 1.0, False),
        ("s_cmp_nlt_f32", np.nan, 1.0, True), ("s_cmp_neq_f32", np.nan, np.nan, True), ("s_cmp_eq_f32", 1.0, 1.0, True),
        ("s_cmp_lg_f32", np.nan, 1.0, False), ("s_cmp_o_f32", np.nan, 1.0, False), ("s_cmp_u_f32", np.nan, 1.0, True),
        ("s_cmp_ge_f32", 1.0, 1.0, True), ("s_cmp_nge_f32", 1.0, 1.0, False), ("s_cmp_gt_f32", -1.0, -2.0, True),
    ],
)  # fmt: skip
def test_scalar_floats_are_compared(compare, a, b, holds):
    result = run(
        f"{compare} s2, s3\ns_cselect_b32 s4, 7, 9",
        "gfx1200",
        s={2: int(f32(a)[0]), 3: int(f32(b)[0])},
    )
    assert result.r(4)[0, 0] == (7 if holds else 9)
