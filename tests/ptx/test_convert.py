"""cvt: every pair of types, rounding and saturation, against exact arithmetic and ml_dtypes."""

import bisect
import math
from fractions import Fraction

import exact
import ml_dtypes
import numpy as np
import pytest
from exact import BF16, F16, F32, F64
from running import Row, check
from test_integers import columns, signed

from crosswarp.matrix.cell.machines.ptx import floats

ROWS = []
_RAW = {8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}


def _floats_to_floats():
    for source, to, modes in (
        (F32, F16, ("rn", "rz")), (F32, BF16, ("rn", "rz")), (F64, F32, ("rn", "rz", "rm", "rp")),
        (F64, F16, ("rn", "rz")), (F16, F32, ("",)), (BF16, F32, ("",)), (F32, F64, ("",)), (F16, F64, ("",)),
    ):  # fmt: skip
        raw = np.concatenate([exact.edges(source), *exact.pairs(source, 600, 6, 1)])
        if source is not F16 and to is not F64 and source is not BF16:
            raw = np.concatenate([raw, _ties(source, to)])
        values = exact.values_of(raw, source)
        target = "sm_90" if source is BF16 else "sm_80"
        for mode in modes:
            found = [_rounded(value, to, mode or "rn") for value in values]
            operation = f"cvt.{mode + '.' if mode else ''}{to.name}.{source.name}"
            ROWS.append(Row(operation, f"{operation} %x, %a;", [raw], [exact.raw_of(found, to)], (to.name,),
                            target=target))  # fmt: skip


def _ties(source, to):
    """Numbers half way between two of the narrow format, and their neighbours; also around its ends."""
    random = np.random.default_rng(7)
    low, high = max(to.low, -126), min(to.high, 127)
    exponents = np.concatenate(
        [random.integers(low - to.precision, high, 60), [low - to.precision, low, high, high]]
    )
    fraction = random.integers(0, 1 << to.precision - 1, len(exponents))
    fraction[-1] = (1 << to.precision - 1) - 1
    values = (1 + (fraction + 0.5) * 2.0 ** (1 - to.precision)) * 2.0 ** exponents.astype(float)
    raw = values.astype(source.dtype).view(source.raw)
    return np.concatenate([raw, raw + source.raw(1), raw - source.raw(1)])


@pytest.mark.parametrize("mode", ["rz", "rm", "rp"])
def test_a_float_cut_to_bf16_by_its_direction(mode):
    values = np.array([1.00390625, -1.00390625, 3.3e-3, -3.3e-3, 0.0, 2.5], np.float32)
    wanted = [_rounded(float(value), BF16, mode) for value in values]
    assert (floats.narrow_bf16(values, mode) == exact.raw_of(wanted, BF16)).all()


def _rounded(value, form, mode):
    if not math.isfinite(value):
        return value
    return exact.rounded(Fraction(value), form, mode, math.copysign(1, value))


_WHOLE = {"rni": "rn", "rzi": "rz", "rmi": "rm", "rpi": "rp"}


def _whole(value, mode):
    if mode == "rzi":
        return math.trunc(value)
    if mode == "rmi":
        return math.floor(value)
    return math.ceil(value) if mode == "rpi" else round(Fraction(value))


_BOUNDS = [0.5, 1.5, 2.5, -0.5, -1.5, 127.5, 128, 255, 256, 32767.5, -32768, 65504, 2**31, 2**32, 2**63, 2**64,
           -(2**31), -(2**63)]  # fmt: skip


def _floats_to_integers():
    for source in (F32, F64, F16):
        with np.errstate(over="ignore"):
            bounds = np.array(_BOUNDS).astype(source.dtype).view(source.raw)
        raw = np.concatenate([exact.edges(source), *exact.pairs(source, 400, 8, 1), bounds])
        values = exact.values_of(raw, source)
        for kind in "us":
            for bits in (8, 16, 32, 64):
                low, high = (
                    (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if kind == "s" else (0, 2**bits - 1)
                )
                for mode in ("rzi", "rni", "rmi", "rpi") if bits == 32 else ("rzi",):
                    # NaN: 0, but the bit above the positive range from .f64 or to 64 bits.
                    nan = 1 << bits - 1 if source is F64 or bits == 64 else 0
                    if bits < 32:
                        # What a device does with NaN below 32 bits is not written down.
                        keep = [not math.isnan(value) for value in values]
                    else:
                        keep = [True] * len(values)
                    some = raw[keep]
                    found = []
                    for value in exact.values_of(some, source):
                        if math.isnan(value):
                            found.append(nan)
                        elif math.isinf(value):
                            found.append((low if value < 0 else high) % 2**bits)
                        else:
                            found.append(min(max(_whole(value, mode), low), high) % 2**bits)
                    # Results of 8 bits are extended into a register of 16.
                    operation = f"cvt.{mode}.{kind}{bits}.{source.name}"
                    body = f"{operation} %x, %a;" + ("\nand.b16 %x, %x, 255;" if bits == 8 else "")
                    ROWS.append(
                        Row(operation, body, [some], [np.array(found, _RAW[max(bits, 16)])])
                    )


def _integers_to_floats():
    for bits in (16, 32, 64):
        for kind in "us":
            raw = columns(bits, 1, 3)[0]
            if bits == 64:
                # Around what float16 holds, of which most of them are far: ties, and the last before infinity.
                near = [1, 2047, 2049, 2051, 4098, 4100, 65504, 65519, 65520, 65521, 2**53 + 1]
                raw = np.concatenate(
                    [raw, np.array([*near, *(2**64 - n for n in near)], raw.dtype)]
                )
            values = [signed(int(v), bits) if kind == "s" else int(v) for v in raw]
            forms = [
                (F32, ("rn", "rz", "rm", "rp") if bits == 32 else ("rn",)),
                (F64, ("rn",)),
                (F16, ("rn",)),
            ]
            for form, modes in forms:
                for mode in modes:
                    found = [exact.rounded(Fraction(value), form, mode) for value in values]
                    operation = f"cvt.{mode}.{form.name}.{kind}{bits}"
                    body = f"{operation} %x, %a;"
                    ROWS.append(
                        Row(operation, body, [raw], [exact.raw_of(found, form)], (form.name,))
                    )
    raw = columns(32, 1, 4)[0]
    found = exact.raw_of([exact.rounded(Fraction(signed(int(v), 32)), BF16) for v in raw], BF16)
    ROWS.append(
        Row("cvt.rn.bf16.s32", "cvt.rn.bf16.s32 %x, %a;", [raw], [found], ("bf16",), target="sm_90")
    )


def _fits(kind, bits, to_kind, to_bits):
    """Whether every number does: there .sat is no form of cvt."""
    return to_bits > bits if kind == to_kind else kind == "u" and to_bits > bits


def _integers_to_integers():
    for bits in (16, 32, 64):
        for kind in "us":
            raw = columns(bits, 1, 5)[0]
            values = [signed(int(v), bits) if kind == "s" else int(v) for v in raw]
            for to_bits in (16, 32, 64):
                for to_kind in "us":
                    low, high = (
                        (-(2 ** (to_bits - 1)), 2 ** (to_bits - 1) - 1)
                        if to_kind == "s"
                        else (0, 2**to_bits - 1)
                    )
                    name = f"{to_kind}{to_bits}.{kind}{bits}"
                    found = [value % 2**to_bits for value in values]
                    if (to_kind, to_bits) != (kind, bits):
                        ROWS.append(
                            Row(
                                f"cvt.{name}",
                                f"cvt.{name} %x, %a;",
                                [raw],
                                [np.array(found, _RAW[to_bits])],
                            )
                        )
                        if _fits(kind, bits, to_kind, to_bits):
                            continue
                        found = [min(max(value, low), high) % 2**to_bits for value in values]
                        ROWS.append(Row(f"cvt.sat.{name}", f"cvt.sat.{name} %x, %a;", [raw],
                                        [np.array(found, _RAW[to_bits])]))  # fmt: skip
    raw = columns(32, 1, 6)[0]
    found = [signed(int(v) & 255, 8) % 65536 for v in raw]
    ROWS.append(Row("cvt.s8.s32", "cvt.s8.s32 %x, %a;", [raw], [np.array(found, np.uint16)]))


def _to_integral_floats():
    raw = np.concatenate([exact.edges(F32), *exact.pairs(F32, 400, 9, 1)])
    for mode in _WHOLE:
        found = []
        for value in exact.values_of(raw, F32):
            if math.isfinite(value):
                value = math.copysign(float(_whole(value, mode)), value)
            found.append(value)
        ROWS.append(Row(f"cvt.{mode}.f32.f32", f"cvt.{mode}.f32.f32 %x, %a;", [raw], [exact.raw_of(found, F32)],
                        ("f32",)))  # fmt: skip
    found = [0.0 if math.isnan(v) or v <= 0 else min(v, 1.0) for v in exact.values_of(raw, F32)]
    ROWS.append(
        Row(
            "cvt.sat.f32.f32",
            "cvt.sat.f32.f32 %x, %a;",
            [raw],
            [exact.raw_of(found, F32)],
            ("f32",),
        )
    )
    found = [exact.flushed(v) for v in exact.values_of(raw, F32)]
    ROWS.append(
        Row(
            "cvt.ftz.f32.f32",
            "cvt.ftz.f32.f32 %x, %a;",
            [raw],
            [exact.raw_of(found, F32)],
            ("f32",),
        )
    )


def _pairs_of_halves():
    a, b = exact.pairs(F32, 600, 11)
    a = np.concatenate([a, _ties(F32, F16), _ties(F32, BF16)])
    b = np.resize(b, len(a))
    for form in (F16, BF16):
        for mode in ("rn", "rz"):
            for relu in (False, True):
                halves = []
                for raw in (a, b):
                    values = exact.values_of(raw, F32)
                    if relu:
                        values = [
                            value if math.isnan(value) or value > 0 else 0.0 for value in values
                        ]
                    halves.append(
                        exact.raw_of([_rounded(v, form, mode) for v in values], form).astype(
                            np.uint32
                        )
                    )
                operation = f"cvt.{mode}{'.relu' if relu else ''}.{form.name}x2.f32"
                # The first source is the high half.
                ROWS.append(Row(operation, f"{operation} %x, %a, %b;", [a, b], [halves[0] << 16 | halves[1]],
                                (form.name + "x2",)))  # fmt: skip


def _tf32():
    raw = np.concatenate([exact.edges(F32), exact.pairs(F32, 600, 12, 1)[0]])
    raw = raw[[math.isfinite(value) for value in exact.values_of(raw, F32)]]
    # Ties of 13 bits.
    raw = np.concatenate([raw, (raw & ~np.uint32(0x1FFF)) | np.uint32(0x1000)])
    raw = raw[(raw & 0x7FFFFFFF) < 0x7F7FE000]
    tf32 = exact.Format("tf32", np.float32, np.uint32, 11, -126, 127)
    for mode, target in (("rna", "sm_80"), ("rn", "sm_90"), ("rz", "sm_90")):
        found = [_rounded(value, tf32, mode) for value in exact.values_of(raw, F32)]
        operation = f"cvt.{mode}.tf32.f32"
        # A device may leave anything in the lowest 13 bits, and does not.
        ROWS.append(
            Row(
                operation,
                f"{operation} %x, %a;",
                [raw],
                [exact.raw_of(found, F32)],
                ("f32",),
                target=target,
            )
        )


def _ue8m0():
    """Sizes to powers of two: 2^-127 to 2^127, of which the code is the exponent and 127."""
    powers = [2.0**exponent for exponent in range(-127, 128)]
    values = [0.0, 2.0**-149, 2.0**-128, 3.4e38, math.inf, math.nan, 1.5, 448.0, 0.3, *powers]
    values += [np.nextafter(np.float32(power), np.float32(np.inf)) for power in powers]
    raw = np.array(values, np.float32)
    for mode in ("rz", "rp"):
        codes = [_code(float(value), mode) for value in raw]
        wanted = np.array([code << 8 | other for code, other in zip(codes, codes[::-1])], np.uint16)
        operation = f"cvt.{mode}.satfinite.ue8m0x2.f32"
        ROWS.append(Row(operation, f"{operation} %x, %a, %b;", [raw.view(np.uint32), raw[::-1].copy().view(np.uint32)],
                        [wanted], target="sm_100a", version="8.6"))  # fmt: skip


_POWERS = [2.0**exponent for exponent in range(-126, 128)]


def _code(value, mode):
    if math.isnan(value):
        return 255
    code = bisect.bisect(_POWERS, value)
    return code if mode == "rz" or value <= 2.0 ** (code - 127) else min(code + 1, 254)


_FP8 = {"e4m3": (ml_dtypes.float8_e4m3fn, 448.0), "e5m2": (ml_dtypes.float8_e5m2, 57344.0)}


def _fp8():
    every = np.arange(256, dtype=np.uint8)
    random = np.random.default_rng(13)
    some = random.normal(0, 1, 400) * 2.0 ** random.integers(-20, 18, 400)
    ends = [0.0, -0.0, math.inf, -math.inf, math.nan, 448, 464, 465, 480, 57344, 61440, 61441, 1e30, 2**-9, 2**-10,
            2**-16, 2**-17, 1.5 * 2**-17, -(2**-17)]  # fmt: skip
    for kind, (dtype, largest) in _FP8.items():
        codes = every.view(dtype).astype(np.float64)
        finite = np.sort(codes[np.isfinite(codes)])
        middle = (finite[1:] + finite[:-1]) / 2
        values = np.concatenate([some, ends, middle, finite]).astype(np.float32)
        with np.errstate(all="ignore"):
            clipped = np.where(np.isnan(values), values, np.clip(values, -largest, largest))
            code = clipped.astype(dtype).view(np.uint8).astype(np.uint16)
        code[np.isnan(values)] = 0x7F
        raw, other = values.view(np.uint32), np.roll(values, 1).view(np.uint32)
        operation = f"cvt.rn.satfinite.{kind}x2.f32"
        expected = code << 8 | np.roll(code, 1)
        ROWS.append(
            Row(operation, f"{operation} %x, %a, %b;", [raw, other], [expected], target="sm_89")
        )
        pair = every.astype(np.uint16) | (np.roll(every, 7).astype(np.uint16) << 8)
        halves = [
            v.view(dtype).astype(np.float16).view(np.uint16).astype(np.uint32)
            for v in (every, np.roll(every, 7))
        ]
        operation = f"cvt.rn.f16x2.{kind}x2"
        ROWS.append(Row(operation, f"{operation} %x, %a;", [pair], [halves[0] | halves[1] << 16], ("f16x2",),
                        target="sm_89"))  # fmt: skip
        # A zero's sign is left open: no code of minus zero is asked for.
        held = np.where(every == 0x80, 0x81, every).astype(np.uint8)
        positive = [
            np.where(v.view(dtype).astype(np.float64) < 0, 0, v).astype(np.uint8).view(dtype)
            .astype(np.float16).view(np.uint16).astype(np.uint32)
            for v in (held, np.roll(held, 7))
        ]  # fmt: skip
        operation = f"cvt.rn.relu.f16x2.{kind}x2"
        pair = held.astype(np.uint16) | (np.roll(held, 7).astype(np.uint16) << 8)
        ROWS.append(Row(operation, f"{operation} %x, %a;", [pair], [positive[0] | positive[1] << 16], ("f16x2",),
                        target="sm_89"))  # fmt: skip
        with np.errstate(all="ignore"):
            narrow = clipped.astype(np.float16)
            back = np.where(np.isnan(narrow), narrow, np.clip(narrow, -largest, largest))
            code = back.astype(np.float32).astype(dtype).view(np.uint8).astype(np.uint16)
        code[np.isnan(narrow)] = 0x7F
        raw = narrow.view(np.uint16).astype(np.uint32)
        operation = f"cvt.rn.satfinite.{kind}x2.f16x2"
        pair, expected = raw | np.roll(raw, 1) << 16, code | np.roll(code, 1) << 8
        ROWS.append(Row(operation, f"{operation} %x, %a;", [pair], [expected], target="sm_89"))


_floats_to_floats()
_floats_to_integers()
_integers_to_floats()
_integers_to_integers()
_to_integral_floats()
_pairs_of_halves()
_tf32()
_ue8m0()
_fp8()


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_conversions(row):
    check(row)
