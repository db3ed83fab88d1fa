"""gfx950's conversions of small floats with a scale, against ml_dtypes; op_sel as LLVM writes it."""

import ml_dtypes
import numpy as np
import pytest
from amd_running import f32, lanes_of, run

SMALL = {
    "fp8": ml_dtypes.float8_e4m3fn,
    "bf8": ml_dtypes.float8_e5m2,
    "fp4": ml_dtypes.float4_e2m1fn,
}
WIDE = {"f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16}
# A scale is an exponent: the mantissa of the float32 is not looked at.
SCALE = 0.4


def words_of(found, first, count, kind):
    words = np.stack([lanes_of(found, first + place) for place in range(count)], 1)
    return np.ascontiguousarray(words).view(kind)


@pytest.mark.parametrize("small", SMALL)
@pytest.mark.parametrize("wide", WIDE)
@pytest.mark.parametrize("place", [0, 1])
def test_a_pair_becomes_wide(small, wide, place):
    codes = np.random.default_rng(4).integers(0, 256, (64, 4)).astype(np.uint8)
    if small == "fp4":
        pair = np.stack([codes[:, place] & 15, codes[:, place] >> 4], 1)
    else:
        pair = codes[:, 2 * place : 2 * place + 2]
    expected = (pair.view(SMALL[small]).astype(np.float64) * 0.25).astype(WIDE[wide])
    count = 2 if wide == "f32" else 1
    found = run(
        f"v_cvt_scalef32_pk_{wide}_{small} v[4:{3 + count}], v1, v2 op_sel:[{place},0,0]".replace("v[4:4]", "v4"),
        "gfx950", v={1: codes.view(np.uint32)[:, 0], 2: f32(SCALE)},
    )  # fmt: skip
    got = words_of(found, 4, count, WIDE[wide])
    assert np.array_equal(got.astype(np.float64), expected.astype(np.float64), equal_nan=True)


@pytest.mark.parametrize("small", SMALL)
@pytest.mark.parametrize("wide", WIDE)
@pytest.mark.parametrize("upper", [0, 1])
def test_a_pair_becomes_small(small, wide, upper):
    """The rest of the destination stays."""
    numbers = (np.random.default_rng(5).standard_normal((64, 2)) * 0.5).astype(WIDE[wide])
    scaled = numbers.astype(np.float32) * 4
    codes = (
        np.clip(scaled, -6, 6).astype(SMALL[small])
        if small == "fp4"
        else scaled.astype(SMALL[small])
    )
    codes = codes.view(np.uint8)
    raw = np.ascontiguousarray(numbers).view(np.uint32)
    sources = {1 + place: raw[:, place] for place in range(raw.shape[1])}
    names = ", ".join(f"v{number}" for number in sources)
    # Of a byte the third of op_sel is the lower bit of its number, of a half the last one says which.
    if small == "fp4":
        select = f"0,0,0,{upper}"
        expected = (codes[:, 0] | codes[:, 1] << 4).astype(np.uint32) << 16 * upper
        kept = 0xFFFFFFFF & ~(0xFF << 16 * upper)
    else:
        select = ",".join(["0"] * (len(sources) + 1) + [str(upper)])
        expected = (codes[:, 0] | codes[:, 1].astype(np.uint32) << 8).astype(
            np.uint32
        ) << 16 * upper
        kept = 0xFFFFFFFF & ~(0xFFFF << 16 * upper)
    found = run(
        f"v_cvt_scalef32_pk_{small}_{wide} v4, {names}, v3 op_sel:[{select}]", "gfx950",
        v={**sources, 3: f32(SCALE), 4: 0x5A5A5A5A},
    )  # fmt: skip
    assert np.array_equal(lanes_of(found, 4), expected | np.uint32(0x5A5A5A5A & kept))


@pytest.mark.parametrize("small", ["fp8", "bf8"])
def test_one_byte_becomes_wide(small):
    codes = np.arange(256, dtype=np.uint8).reshape(64, 4)
    expected = codes.view(SMALL[small]).astype(np.float32) * np.float32(0.25)
    v = {1: codes.view(np.uint32)[:, 0], 2: f32(SCALE), 4: 0x11112222}
    found = run(f"v_cvt_scalef32_f32_{small} v4, v1, v2 op_sel:[1,1,0]", "gfx950", v=v)
    assert np.array_equal(lanes_of(found, 4).view(np.float32), expected[:, 3], equal_nan=True)
    found = run(f"v_cvt_scalef32_f16_{small} v4, v1, v2 op_sel:[0,1,1]", "gfx950", v=v)
    raw = lanes_of(found, 4)
    halves = (raw >> np.uint32(16)).astype(np.uint16).view(np.float16)
    assert np.array_equal(halves, expected[:, 2].astype(np.float16), equal_nan=True)
    assert set(raw & np.uint32(0xFFFF)) == {0x2222}
