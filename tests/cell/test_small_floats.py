"""bf16, the 8-bit floats and libdevice in numpy, against PyTorch's own."""

import math
from fractions import Fraction

import numpy as np
import pytest
import torch

from crosswarp.compat import bf16, fp8, gpu_math

PATTERNS = np.arange(65536, dtype=np.uint16)
RANDOM = np.random.default_rng(0)
FP8 = {
    "fp8e4nv": "float8_e4m3fn",
    "fp8e5": "float8_e5m2",
    "fp8e4b8": "float8_e4m3fnuz",
    "fp8e5b16": "float8_e5m2fnuz",
}


def same(got, want):
    with np.errstate(invalid="ignore"):
        return ((got == want) | (np.isnan(got) & np.isnan(want))).all()


def test_every_bf16_pattern_widens_as_in_torch():
    want = torch.from_numpy(PATTERNS.view(np.int16)).view(torch.bfloat16).float().numpy()
    assert np.array_equal(bf16.to_float32(PATTERNS).view(np.uint32), want.view(np.uint32))
    assert np.array_equal(bf16.from_float32(want)[~np.isnan(want)], PATTERNS[~np.isnan(want)])


def test_rounding_to_bf16_is_torchs():
    high = PATTERNS.astype(np.uint32) << 16
    near_ties = [high | low for low in (0x7FFF, 0x8000, 0x8001)]
    random = RANDOM.integers(0, 2**32, 500_000, dtype=np.uint64).astype(np.uint32)
    # The last: subnormal, the smallest there are.
    x = np.concatenate([*near_ties, random, PATTERNS.astype(np.uint32)]).view(np.float32)
    want = torch.from_numpy(x.copy()).to(torch.bfloat16).view(torch.int16).numpy().view(np.uint16)
    got, is_nan = bf16.from_float32(x), np.isnan(x)
    assert np.array_equal(got[~is_nan], want[~is_nan])
    assert np.isnan(bf16.to_float32(got[is_nan])).all()


def test_rounding_to_bf16_toward_zero_keeps_nan():
    assert np.isnan(bf16.to_float32(bf16.from_float32(np.float32([math.nan]), toward_zero=True)))
    bits = np.uint32([0x7F800001]).view(np.float32)
    assert np.isnan(bf16.to_float32(bf16.from_float32(bits, toward_zero=True))).all()
    largest = np.float32([3.4e38, -3.4e38])
    assert np.isfinite(bf16.to_float32(bf16.from_float32(largest, toward_zero=True))).all()


def test_float64_is_rounded_to_bf16_once():
    tie, little = 1 + 2.0**-8, 2.0**-40
    got = bf16.to_float32(
        bf16.from_float64(np.array([tie - little, tie, tie + little, -tie - little]))
    )
    assert got.tolist() == [1.0, 1.0, 1 + 2.0**-7, -1 - 2.0**-7]
    extremes = bf16.to_float32(
        bf16.from_float64(np.array([1e300, -1e300, 1e-300, math.inf, math.nan]))
    )
    assert same(extremes, np.array([math.inf, -math.inf, 0, math.inf, math.nan]))
    single = RANDOM.normal(size=10_000).astype(np.float32)
    assert np.array_equal(bf16.from_float64(single), bf16.from_float32(single))


def test_shapes_are_kept():
    for shape in ((), (1,), (2, 3)):
        ones = np.ones(shape, np.float32)
        assert bf16.from_float32(ones).shape == shape
        assert bf16.from_float64(ones).shape == shape
        assert bf16.to_float32(bf16.from_float32(ones.T)).shape == shape[::-1]


def test_sums_and_scans_round_each_step():
    ones = bf16.from_float32(np.ones((3, 512), np.float32))
    # One by one bf16 stops at 256; halves onto each other reach the sum.
    assert bf16.to_float32(bf16.sum_(ones, 1)).tolist() == [512.0] * 3
    assert bf16.to_float32(bf16.sum_(ones[:, :7], 1)).tolist() == [7.0] * 3
    assert bf16.to_float32(bf16.scan(ones, 1, np.add))[0, -1] == 256
    assert bf16.to_float32(bf16.scan(ones, 0, np.add))[2, 0] == 3


@pytest.mark.parametrize("name", FP8)
def test_8_bit_floats_are_torchs(name):
    dtype = getattr(torch, FP8[name])
    every = np.arange(256, dtype=np.uint8)
    values = fp8.to_float64(every, name)
    assert same(values, torch.from_numpy(every.copy()).view(dtype).float().numpy())
    finite = np.unique(values[np.isfinite(values)])
    middles = (finite[1:] + finite[:-1]) / 2
    x = np.concatenate([finite, middles, RANDOM.normal(size=100_000) * finite[-1] / 6])
    x = x[np.abs(x) <= finite[-1]].astype(np.float32)
    want = torch.from_numpy(x.copy()).to(dtype).view(torch.uint8).numpy()
    assert np.array_equal(fp8.from_float64(x, name), want)
    toward = fp8.to_float64(fp8.from_float64(x, name, toward_zero=True), name)
    assert (np.abs(toward) <= np.abs(x)).all()


@pytest.mark.parametrize(
    "name, largest, infinite",
    [
        ("fp8e4nv", 448, 448),
        ("fp8e5", 57344, 57344),
        ("fp8e4b8", 240, math.nan),
        ("fp8e5b16", 57344, math.nan),
    ],
)
def test_overflow_of_8_bit_floats(name, largest, infinite):
    x = np.array([1e9, -1e9, math.inf, math.nan])
    got = fp8.to_float64(fp8.from_float64(x, name), name)
    assert same(got, np.array([largest, -largest, infinite, math.nan]))


UNARY = """
    acos acosh asin asinh atan atanh cos cosh erf erfc erfinv exp exp2 expm1 floor lgamma log log10 log1p log2 rsqrt
    sin sinh sqrt tan tanh trunc
""".split()


@pytest.mark.parametrize("name", UNARY)
def test_functions_are_torchs(name):
    x = np.concatenate([np.linspace(-6, 6, 1001), np.linspace(-0.999, 0.999, 333), [0, math.nan]])
    want = getattr(torch, name)(torch.from_numpy(x)).numpy()
    got = gpu_math.function(f"__nv_{name}")(x)
    with np.errstate(all="ignore"):
        close = np.abs(got - want) <= 1e-12 * np.maximum(1, np.abs(want))
    assert (close | (got == want) | (np.isnan(got) & np.isnan(want))).all()


def test_symbols_of_both_makers_and_all_types():
    one = np.float32([1.0])
    for symbol in ("__nv_tanhf", "__nv_tanh", "__ocml_tanh_f32", "__nv_fast_tanhf"):
        assert gpu_math.function(symbol)(one)[0] == np.tanh(1.0)
    assert gpu_math.function("__nv_isnand")(np.array([math.nan]))[0]
    assert gpu_math.function("__nv_popcll")(np.int64([-1])) == 64
    assert gpu_math.function("__ockl_clz_u32")(np.uint32([1])) == 31
    assert gpu_math.function("__nv_fadd_rz") is None
    assert gpu_math.function("tanh") is None


def test_bessel_functions():
    def exact(order, x):
        x = Fraction(x)
        terms = (
            Fraction((-1) ** k, math.factorial(k) * math.factorial(k + order))
            * (x / 2) ** (2 * k + order)
            for k in range(50)
        )
        return float(sum(terms))

    for order in (0, 1):
        x = np.array([-4.0, 0.3, 2.4, 5.9])
        got = gpu_math.function(f"__nv_j{order}")(x)
        assert np.abs(got - [exact(order, float(at)) for at in x]).max() < 1e-14


def test_fma_rounds_once():
    fma = gpu_math.function("__nv_fmaf")
    x, y, z = (RANDOM.normal(size=300).astype(np.float32) for _ in range(3))
    z[:100] = -(x[:100] * y[:100])
    for got, a, b, c in zip(fma(x, y, z), x, y, z):
        exact = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
        away = [abs(exact - Fraction(float(np.nextafter(got, np.float32(to))))) for to in (-9, 9)]
        assert abs(exact - Fraction(float(got))) <= min(away)


def test_integer_functions():
    f = gpu_math.function
    assert f("__nv_brev")(np.int32([1])).view(np.int32) == -(2**31)
    assert f("__nv_mulhi")(np.int32([-1]), np.int32([1])).view(np.int32) == -1
    assert f("__nv_umulhi")(np.uint32([2**31]), np.uint32([4])) == 2
    assert (
        f("__nv_byte_perm")(np.int32([0x03020100]), np.int32([0x07060504]), np.int32([0x7531]))
        == 0x07050301
    )
    assert f("__nv_float2int_rz")(np.float32([1e20, -1.9, math.nan])).tolist() == [2**31 - 1, -1, 0]
    assert f("__nv_ffs")(np.int32([0, 8])).tolist() == [0, 4]
