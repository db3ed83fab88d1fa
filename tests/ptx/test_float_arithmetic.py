"""add, sub, mul, fma, div, sqrt, min, max, abs, neg on floats, in every format and rounding."""

import math
from fractions import Fraction
from functools import partial

import exact
import numpy as np
import pytest
from exact import BF16, F16, F32, F64
from running import Row, check, on_machine_only

from crosswarp.matrix.cell.machines import ptx

ROWS = []


def row(name, body, inputs, expected, kind, **more):
    ROWS.append(Row(name, body, inputs, [expected], floats=(kind,), **more))


def scalar(operation, function, form, operands, seed, **more):
    raw = exact.pairs(form, seed=seed, operands=operands)
    columns = [exact.values_of(array, form) for array in raw]
    found = [function(*lane) for lane in zip(*columns)]
    names = ", ".join("%" + letter for letter in "abc"[:operands])
    row(operation, f"{operation} %x, {names};", raw, exact.raw_of(found, form), form.name, **more)


def flushing(function):
    """The function of .ftz: denormals are zeros on the way in and out."""
    return lambda *lane: exact.flushed(function(*(exact.flushed(value) for value in lane)))


def flushing_exact(function):
    """The same for what multiplies: what is below the normal numbers before it is rounded is zero, as on an H100."""

    def inside(*lane):
        lane = [exact.flushed(value) for value in lane]
        if all(map(math.isfinite, lane)):
            number = Fraction(lane[0]) * Fraction(lane[1]) + Fraction(*lane[2:] or (0.0,))
            if 0 < abs(number) < Fraction(2) ** -126:
                return math.copysign(0.0, number)
        return exact.flushed(function(*lane))

    return inside


def saturating(function):
    def inside(*lane):
        value = function(*lane)
        return 0.0 if math.isnan(value) or value <= 0 else min(value, 1.0)

    return inside


def relu(function):
    def above(*lane):
        value = function(*lane)
        return value if math.isnan(value) or value > 0 else 0.0

    return above


def _add(form, mode="rn"):
    return lambda a, b: exact.add(a, b, form, mode)


def _sub(form, mode="rn"):
    return lambda a, b: exact.add(a, -b, form, mode)


def _mul(form, mode="rn"):
    return lambda a, b: exact.multiply(a, b, form, mode)


def _fma(form, mode="rn"):
    return lambda a, b, c: exact.fused(a, b, c, form, mode)


for mode in ("rn", "rz", "rm", "rp"):
    scalar(f"add.{mode}.f32", _add(F32, mode), F32, 2, 10)
    scalar(f"sub.{mode}.f32", _sub(F32, mode), F32, 2, 11)
    scalar(f"mul.{mode}.f32", _mul(F32, mode), F32, 2, 12)
    scalar(f"fma.{mode}.f32", _fma(F32, mode), F32, 3, 13)
for operation, function, count in (
    ("add", _add, 2),
    ("sub", _sub, 2),
    ("mul", _mul, 2),
    ("fma.rn", _fma, 3),
):
    flush = flushing_exact if operation in ("mul", "fma.rn") else flushing
    scalar(f"{operation}.ftz.f32", flush(function(F32)), F32, count, 20)
    scalar(f"{operation}.sat.f32", saturating(function(F32)), F32, count, 21)
    scalar(f"{operation}.ftz.sat.f32", flushing(saturating(flush(function(F32)))), F32, count, 22)
    scalar(f"{operation}.f64", function(F64), F64, count, 23)
scalar("add.f32", _add(F32), F32, 2, 24)
scalar("sub.f32", _sub(F32), F32, 2, 25)
scalar("mul.f32", _mul(F32), F32, 2, 26)
scalar("add.f16", _add(F16), F16, 2, 30)
scalar("sub.f16", _sub(F16), F16, 2, 31)
scalar("mul.f16", _mul(F16), F16, 2, 32)
scalar("fma.rn.f16", _fma(F16), F16, 3, 33)
scalar("fma.rn.relu.f16", relu(_fma(F16)), F16, 3, 34)
scalar("fma.rn.bf16", _fma(BF16), BF16, 3, 35)
scalar("fma.rn.relu.bf16", relu(_fma(BF16)), BF16, 3, 36)
# bf16 adds and multiplies since sm_90.
scalar("add.bf16", _add(BF16), BF16, 2, 37, target="sm_90")
scalar("sub.bf16", _sub(BF16), BF16, 2, 38, target="sm_90")
scalar("mul.bf16", _mul(BF16), BF16, 2, 39, target="sm_90")
scalar("div.rn.f32", lambda a, b: exact.divide(a, b, F32), F32, 2, 40)
scalar("div.rn.ftz.f32", flushing(lambda a, b: exact.divide(a, b, F32)), F32, 2, 41)
scalar("div.rn.f64", lambda a, b: exact.divide(a, b, F64), F64, 2, 42)
scalar("sqrt.rn.f32", lambda a: exact.square_root(a, F32), F32, 1, 43)
scalar("sqrt.rn.ftz.f32", flushing(lambda a: exact.square_root(a, F32)), F32, 1, 44)
scalar("sqrt.rn.f64", lambda a: exact.square_root(a, F64), F64, 1, 45)
scalar("rcp.rn.f32", lambda a: exact.divide(1.0, a, F32), F32, 1, 46)


def mixed(operation, function, narrow, operands, seed, mode="rn", wrap=None):
    """All but the last operand are of the narrow format; computed and rounded once, as float32."""
    arrays = exact.pairs(narrow, seed=seed, operands=operands - 1)
    last = exact.pairs(F32, seed=seed + 1, operands=2)[0]
    count = min(len(last), *(len(array) for array in arrays))
    raw = [array[:count] for array in (*arrays, last)]
    columns = [exact.values_of(x, form) for x, form in zip(raw, [narrow] * (operands - 1) + [F32])]
    inside = function(F32, mode)
    inside = wrap(inside) if wrap else inside
    expected = exact.raw_of([inside(*lane) for lane in zip(*columns)], F32)
    names = ", ".join("%" + letter for letter in "abc"[:operands])
    row(
        operation,
        f"{operation} %x, {names};",
        raw,
        expected,
        "f32",
        target="sm_100a",
        version="8.6",
    )


for narrow in (F16, BF16):
    for mode in ("rn", "rz", "rm", "rp"):
        mixed(f"add.{mode}.f32.{narrow.name}", _add, narrow, 2, 60, mode)
        mixed(f"fma.{mode}.f32.{narrow.name}", _fma, narrow, 3, 61, mode)
    mixed(f"sub.f32.{narrow.name}", _sub, narrow, 2, 62)
    mixed(f"add.sat.f32.{narrow.name}", _add, narrow, 2, 63, wrap=saturating)
    mixed(f"fma.rn.sat.f32.{narrow.name}", _fma, narrow, 3, 64, wrap=saturating)


def packed(operation, function, form, operands, seed, **more):
    """The low and the high half are computed apart."""
    low = exact.pairs(form, seed=seed, operands=operands)
    high = exact.pairs(form, seed=seed + 1000, operands=operands)
    found = []
    for half in (low, high):
        columns = [exact.values_of(array, form) for array in half]
        found.append(
            exact.raw_of([function(*lane) for lane in zip(*columns)], form).astype(np.uint32)
        )
    raw = [a.astype(np.uint32) | b.astype(np.uint32) << 16 for a, b in zip(low, high)]
    names = ", ".join("%" + letter for letter in "abc"[:operands])
    kind = form.name + "x2"
    row(operation, f"{operation} %x, {names};", raw, found[0] | found[1] << 16, kind, **more)


packed("add.f16x2", _add(F16), F16, 2, 50)
packed("sub.f16x2", _sub(F16), F16, 2, 51)
packed("mul.f16x2", _mul(F16), F16, 2, 52)
packed("fma.rn.f16x2", _fma(F16), F16, 3, 53)
packed("fma.rn.bf16x2", _fma(BF16), BF16, 3, 54)
packed("add.bf16x2", _add(BF16), BF16, 2, 55, target="sm_90")
packed("mul.bf16x2", _mul(BF16), BF16, 2, 56, target="sm_90")


def _least(a, b):
    if math.isnan(a) or math.isnan(b):
        return b if math.isnan(a) else a
    if a == b == 0:
        return a if math.copysign(1, a) < 0 else b
    return min(a, b)


def _most(a, b):
    return -_least(-a, -b)


def strict(function):
    return lambda a, b: math.nan if math.isnan(a) or math.isnan(b) else function(a, b)


for name, function in (("min", _least), ("max", _most)):
    scalar(f"{name}.f32", function, F32, 2, 60)
    scalar(f"{name}.NaN.f32", strict(function), F32, 2, 61)
    scalar(f"{name}.ftz.f32", flushing(function), F32, 2, 62)
    scalar(f"{name}.f64", function, F64, 2, 63)
    scalar(f"{name}.f16", function, F16, 2, 64)
    scalar(f"{name}.NaN.f16", strict(function), F16, 2, 65)
    scalar(f"{name}.bf16", function, BF16, 2, 66)
    packed(f"{name}.f16x2", function, F16, 2, 67)
    packed(f"{name}.NaN.bf16x2", strict(function), BF16, 2, 68)


def _of_magnitudes(function, a, b):
    """.xorsign.abs: of the magnitudes, with the sign of a * b; what is NaN has none."""
    found = function(abs(a), abs(b))
    negative = math.copysign(1, a) * math.copysign(1, b) < 0
    return found if math.isnan(found) else math.copysign(found, -1 if negative else 1)


for name, function in (("min", _least), ("max", _most)):
    for modifier, of in (("", function), (".NaN", strict(function))):
        for form, seed in ((F32, 80), (F16, 81), (BF16, 82)):
            operation = f"{name}{modifier}.xorsign.abs.{form.name}"
            scalar(operation, partial(_of_magnitudes, of), form, 2, seed, target="sm_86")
    packed(
        f"{name}.xorsign.abs.f16x2", partial(_of_magnitudes, function), F16, 2, 83, target="sm_86"
    )

for form in (F32, F64, F16, BF16):
    scalar(f"abs.{form.name}", abs, form, 1, 70)
    scalar(f"neg.{form.name}", lambda a: -a, form, 1, 71)
scalar("abs.ftz.f32", flushing(abs), F32, 1, 72)
scalar("copysign.f32", lambda a, b: math.copysign(b, a), F32, 2, 73)

# What a second rounding gets wrong: a product that is a tie of float32, and a trifle that decides it. The first falls
# to even and has to rise, the second rises and has to fall.
_TIE = np.array([1 + 2.0**-12, 1 + 3 * 2.0**-12, 1 + 2.0**-12, 2.0**-75], np.float32).view(
    np.uint32
)
_TO = np.array([1 + 2.0**-12, 1 + 2.0**-12, -1 - 2.0**-12, 2.0**-75], np.float32).view(np.uint32)
_TRIFLE = np.array([2.0**-80, -(2.0**-80), -(2.0**-80), 2.0**-149], np.float32).view(np.uint32)
_lanes = [exact.values_of(array, F32) for array in (_TIE, _TO, _TRIFLE)]
row("fma ties", "fma.rn.f32 %x, %a, %b, %c;", [_TIE, _TO, _TRIFLE],
    exact.raw_of([exact.fused(*lane, F32) for lane in zip(*_lanes)], F32), "f32")  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_float_arithmetic(row):
    check(row)


APPROXIMATE = []


def approximate(operation, function, raw, ulps, flush=False):
    values = exact.values_of(raw, F32)
    found = []
    for value in values:
        value = exact.flushed(value) if flush else value
        with np.errstate(all="ignore"):
            result = float(np.float32(function(np.float64(value))))
        found.append(exact.flushed(result) if flush else result)
    expected = exact.raw_of(found, F32)
    APPROXIMATE.append(Row(operation, f"{operation} %x, %a;", [raw], [expected], ("f32",), ulps))


_any = np.concatenate([exact.edges(F32), exact.pairs(F32, 400, 80, 1)[0]])
_small = np.random.default_rng(81).uniform(-100, 100, 512).astype(np.float32).view(np.uint32)
_powers = np.arange(-140, 128).astype(np.float32).view(np.uint32)
# Rounded once, whatever numpy's own float32 function gives: two machines compute the same bits.
approximate("ex2.approx.f32", np.exp2, np.concatenate([_small, exact.edges(F32)]), 0)
approximate(
    "ex2.approx.ftz.f32", np.exp2, np.concatenate([_small, exact.edges(F32)]), 0, flush=True
)
approximate("ex2.approx.f32", np.exp2, _powers, 0)
approximate("sin.approx.f32", np.sin, _small, 0)
approximate("cos.approx.f32", np.cos, _small, 0)
approximate("tanh.approx.f32", np.tanh, _small, 0)
# The errors are those that the ISA states (2 ulp and less where it gives a relative bound).
approximate("rcp.approx.ftz.f32", lambda x: 1 / x, _any, 1, flush=True)
approximate("sqrt.approx.f32", np.sqrt, _any, 2)
approximate("sqrt.approx.ftz.f32", np.sqrt, _any, 2, flush=True)
approximate("rsqrt.approx.f32", lambda x: 1 / np.sqrt(x), _any, 2)


@pytest.mark.parametrize("row", APPROXIMATE, ids=lambda row: row.name)
def test_approximate(row):
    check(row)


def test_division_full():
    # 2 ulp for divisors between 2**-126 and 2**126.
    a, b = (np.random.default_rng(82 + n).normal(0, 1000, 512).astype(np.float32) for n in range(2))
    expected = (a.astype(np.float64) / b).astype(np.float32).view(np.uint32)
    body = "div.full.f32 %x, %a, %b;"
    check(
        Row("div.full.f32", body, [a.view(np.uint32), b.view(np.uint32)], [expected], ("f32",), 2)
    )


def test_logarithm_and_hyperbolic_tangent_near_the_truth():
    # Their errors are absolute (2**-22) and relative (2**-11).
    x = np.random.default_rng(84).uniform(0.01, 8, 512).astype(np.float32)
    for operation, function, ulps in (
        ("lg2.approx.f32", np.log2, 0),
        ("tanh.approx.f32", np.tanh, 5000),
    ):
        if ulps:
            found = function(x.astype(np.float64)).astype(np.float32).view(np.uint32)
            body = f"{operation} %x, %a;"
            check(Row(operation, body, [x.view(np.uint32)], [found], ("f32",), ulps))
        else:
            powers = np.exp2(np.arange(-20, 20)).astype(np.float32)
            found = np.log2(powers).view(np.uint32)
            check(
                Row(
                    operation,
                    f"{operation} %x, %a;",
                    [powers.view(np.uint32)],
                    [found],
                    ("f32",),
                    1,
                )
            )


def _pairs(seed):
    """Two floats a lane, as 64 bits: small ones, and denormals among them."""
    random = np.random.default_rng(seed)
    found = random.standard_normal((256, 2)).astype(np.float32)
    found[::3] *= np.float32(2.0**-126)
    found[::7, 0] = np.float32(1e-40)
    return found


def _flushed(x):
    tiny = np.abs(x) < np.float32(2.0**-126)
    return np.where(tiny, np.copysign(np.float32(0), x), x).astype(np.float32)


@pytest.mark.parametrize("ftz", ["", ".ftz"])
@pytest.mark.parametrize("name", ["add", "sub", "mul", "fma"])
def test_pairs_of_floats(name, ftz):
    a, b, c = (_pairs(seed) for seed in (1, 2, 3))
    way = _flushed if ftz else lambda x: x
    x, y, z = (way(part).astype(np.float64) for part in (a, b, c))
    # A product of two float32 is exact in float64; a sum with a third is not always, so that one is nothing here.
    z = np.zeros_like(z)
    exact = {"add": x + y, "sub": x - y, "mul": x * y, "fma": x * y + z}[name]
    raw = [np.ascontiguousarray(part).view(np.uint64)[:, 0] for part in (a, b)]
    inputs = [*raw, np.zeros(256, np.uint64)] if name == "fma" else raw
    body = f"{name}.rn{ftz}.f32x2 %x, {', '.join('%' + 'abc'[i] for i in range(len(inputs)))};"
    wanted = way(exact.astype(np.float32)).view(np.uint64)[:, 0]
    check(Row(f"{name}{ftz}.f32x2", body, inputs, [wanted], target="sm_100", version="8.6"))


@on_machine_only
def test_halves_that_are_to_be_flushed_are_refused():
    a = np.arange(32, dtype=np.uint16)
    with pytest.raises(ptx.Unsupported, match="halves"):
        check(Row("ftz", "add.ftz.f16 %x, %a, %a;", [a], [a]))
