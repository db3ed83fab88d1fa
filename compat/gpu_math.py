"""The math libraries of GPUs (libdevice, OCML) in numpy, by the symbols that compiled kernels would call.

Computed in float64 and rounded once by the caller, so a function is at least as accurate as on a GPU, the ``fast_``
ones included. What is not here (directed rounding, the Bessel functions Y) is refused by name rather than guessed.
"""

from __future__ import annotations

import functools
import math
import re
from fractions import Fraction
from statistics import NormalDist
from typing import Any, Callable, Dict, List, Optional

from .patterns import lazily

_PREFIX = lazily(r"^__(?:nv|ocml|ockl|triton_hip)_(.*?)(?:_[fu](?:32|64))?$")


def function(symbol: str) -> Optional[Callable[..., Any]]:
    """A function of numpy arrays for `symbol` (``__nv_tanhf``, ``__ocml_tanh_f32``), or None."""
    match = _PREFIX.match(symbol)
    if match is None:
        return None
    # The type is a last letter, or two: tanhf, isnand, clzll. The widths are those of the arguments.
    name = match.group(1)
    for candidate in (
        name,
        re.sub("(ll|[fd])$", "", name),
        re.sub("^[fd](?=[a-z]+_rn$)", "", name),
    ):
        operation = _table().get(candidate)
        if operation is not None:
            return operation
    return None


def known() -> List[str]:
    """The names that `function` knows, without the letters of their types."""
    return sorted(_table())


@functools.lru_cache(maxsize=None)
def _table() -> Dict[str, Callable[..., Any]]:
    import numpy as np

    table: Dict[str, Callable[..., Any]] = {}

    def real(name: str, operation: Callable[..., Any]) -> None:
        def on_float64(*args):
            with np.errstate(all="ignore"):
                return operation(*(np.asarray(arg).astype(np.float64) for arg in args))

        table[name] = on_float64

    def each(operation: Callable[..., float], inputs: int = 1) -> Callable[..., Any]:
        call = np.frompyfunc(_quiet(operation), inputs, 1)
        return lambda *args: np.asarray(call(*args)).astype(np.float64)

    for name, theirs in {
        "acos": "arccos",
        "acosh": "arccosh",
        "asin": "arcsin",
        "asinh": "arcsinh",
        "atan": "arctan",
        "atanh": "arctanh",
        "atan2": "arctan2",
        "cyl_bessel_i0": "i0",
        "i0": "i0",
        "nearbyint": "rint",
        "pow": "power",
        "powi": "power",
        "pown": "power",
    }.items():
        real(name, getattr(np, theirs))
    for name in (
        "cbrt ceil copysign cos cosh exp exp2 expm1 fabs floor fmax fmin fmod hypot log log10 log1p log2 rint"
        " sin sinh sqrt tan tanh trunc"
    ).split():
        real(name, getattr(np, name))
    for name in "cosf expf logf log2f log10f sinf tanf tanhf powf exp10f".split():
        real("fast_" + name, lambda *args, base=name[:-1]: table[base](*args))
    real("exp10", lambda x: np.power(10.0, x))
    for name in ("fast_fdividef", "fast_fdivide", "div_rn"):
        real(name, np.divide)
    real("add_rn", np.add)
    real("sub_rn", np.subtract)
    real("mul_rn", np.multiply)
    real("rcp_rn", lambda x: 1 / x)
    real("sqrt_rn", np.sqrt)
    real("rsqrt", lambda x: 1 / np.sqrt(x))
    real("rsqrt_rn", lambda x: 1 / np.sqrt(x))
    real("rcbrt", lambda x: 1 / np.cbrt(x))
    real("rhypot", lambda x, y: 1 / np.hypot(x, y))
    real("cospi", lambda x: np.cos(np.pi * np.fmod(x, 2)))
    real("sinpi", lambda x: np.sin(np.pi * np.fmod(x, 2)))
    real("fdim", lambda x, y: np.where(x > y, x - y, np.where(np.isnan(x + y), np.nan, 0.0)))
    real("round", lambda x: np.copysign(np.floor(np.abs(x) + 0.5), x))
    real("saturate", lambda x: np.where(np.isnan(x), 0.0, np.clip(x, 0.0, 1.0)))
    real("norm3d", lambda *xs: np.sqrt(sum(x * x for x in xs)))
    real("norm4d", lambda *xs: np.sqrt(sum(x * x for x in xs)))
    real("rnorm3d", lambda *xs: 1 / np.sqrt(sum(x * x for x in xs)))
    real("rnorm4d", lambda *xs: 1 / np.sqrt(sum(x * x for x in xs)))
    real("remainder", each(math.remainder, 2))
    real("ldexp", lambda x, n: np.ldexp(x, n.astype(np.int64)))
    real("scalbn", lambda x, n: np.ldexp(x, n.astype(np.int64)))
    real("logb", _exponent)
    real("erf", each(math.erf))
    real("erfc", each(math.erfc))
    real("erfcx", each(_erfcx))
    real("erfinv", each(_erfinv))
    real("erfcinv", each(lambda x: -_normal_inverse(x / 2) / math.sqrt(2)))
    real("normcdf", each(lambda x: math.erfc(-x / math.sqrt(2)) / 2))
    real("normcdfinv", each(_normal_inverse))
    real("lgamma", each(_lgamma))
    real("tgamma", each(_tgamma))
    real("j0", lambda x: _bessel_j(0, x))
    real("j1", lambda x: _bessel_j(1, x))
    real("cyl_bessel_i1", _bessel_i1)
    real("i1", _bessel_i1)
    real("isnan", np.isnan)
    real("isinf", np.isinf)
    real("isfinite", np.isfinite)
    real("finite", np.isfinite)
    real("signbit", np.signbit)
    table["ilogb"] = _whole_exponent
    real("fast_tanh", np.tanh)
    table["jn"] = lambda n, x: _bessel_j(n.astype(np.float64), x.astype(np.float64))
    table["nextafter"] = lambda x, y: np.nextafter(x, y)
    table["fma"] = table["fma_rn"] = table["fmaf_rn"] = _fma
    _add_conversions(table)
    _add_integers(table)
    return table


def _quiet(operation: Callable[..., float]) -> Callable[..., float]:
    def call(*args):
        try:
            return operation(*map(float, args))
        except (ValueError, ZeroDivisionError):
            return math.nan
        except OverflowError:
            return math.inf

    return call


def _exponent(x):
    import numpy as np

    exponent = np.frexp(x)[1] - 1.0
    exponent = np.where(x == 0, -np.inf, exponent)
    return np.where(np.isinf(x), np.inf, np.where(np.isnan(x), np.nan, exponent))


def _whole_exponent(x):
    """As CUDA has it: INT_MIN of zero and NaN, INT_MAX of infinity."""
    import numpy as np

    exponent = _exponent(x.astype(np.float64))
    limits = np.iinfo(np.int32)
    exponent = np.where(np.isnan(exponent), float(limits.min), exponent)
    return np.clip(exponent, float(limits.min), float(limits.max)).astype(np.int64)


def _lgamma(x: float) -> float:
    if math.isinf(x) or (x <= 0 and x == math.floor(x)):
        return math.inf
    return math.lgamma(x)


def _tgamma(x: float) -> float:
    if x == 0:
        return math.copysign(math.inf, x)
    return math.gamma(x)


def _erfcx(x: float) -> float:
    if x < 20:
        return math.exp(x * x) * math.erfc(x)
    inverse = 1 / (2 * x * x)
    return (1 - inverse + 3 * inverse**2 - 15 * inverse**3 + 105 * inverse**4) / (
        x * math.sqrt(math.pi)
    )


def _normal_inverse(p: float) -> float:
    if p in (0.0, 1.0):
        return math.copysign(math.inf, p - 0.5)
    x = NormalDist().inv_cdf(p)
    # One Newton step from the smaller tail.
    tail, want = (x, p) if x < 0 else (-x, 1 - p)
    slope = math.exp(-tail * tail / 2) / math.sqrt(2 * math.pi)
    better = tail - (math.erfc(-tail / math.sqrt(2)) / 2 - want) / slope
    return better if x < 0 else -better


def _erfinv(x: float) -> float:
    if abs(x) == 1:
        return math.copysign(math.inf, x)
    if abs(x) < 0.5:
        # Near zero (x + 1) / 2 would lose x.
        y = x * math.sqrt(math.pi) / 2
        for _ in range(6):
            y -= (math.erf(y) - x) * math.sqrt(math.pi) / 2 * math.exp(y * y)
        return y
    return math.copysign(_normal_inverse((1 - abs(x)) / 2), 1) * math.copysign(1, x) / math.sqrt(2)


def _mean_over_circle(integrand, x):
    """The mean of a periodic function over its period: equal steps converge faster than any power."""
    import numpy as np

    finite = np.where(np.isfinite(x), x, 0.0)
    steps = int(64 + 2 * min(np.max(np.abs(finite), initial=0.0), 1e5))
    total = np.zeros_like(finite)
    for step in range(steps):
        total = total + integrand(finite, 2 * math.pi * step / steps)
    return np.where(np.isnan(x), np.nan, total / steps)


def _bessel_j(n, x):
    import numpy as np

    value = _mean_over_circle(lambda at, angle: np.cos(n * angle - at * math.sin(angle)), x)
    return np.where(np.isinf(x), 0.0, value)


def _bessel_i1(x):
    import numpy as np

    return _mean_over_circle(
        lambda at, angle: np.exp(at * math.cos(angle)) * math.cos(angle), x
    ) + np.where(np.isinf(x), x, 0.0)


def _fma(x, y, z):
    import numpy as np

    if z.dtype == np.float64:
        exact = np.frompyfunc(_exact_fma, 3, 1)
        return np.asarray(exact(x, y, z)).astype(np.float64)
    # The product of two float32 is exact in float64; the sum is rounded to odd there, so that it is rounded once.
    product = x.astype(np.float64) * y.astype(np.float64)
    addend = z.astype(np.float64)
    with np.errstate(all="ignore"):
        total = product + addend
        part = total - product
        lost = (product - (total - part)) + (addend - part)
    odd = np.ascontiguousarray(total).view(np.int64) & 1
    toward = np.where(lost > 0, np.inf, -np.inf)
    stepped = np.where(
        (lost != 0) & np.isfinite(lost) & (odd == 0), np.nextafter(total, toward), total
    )
    return np.asarray(stepped).astype(np.float32)


def _exact_fma(x: float, y: float, z: float) -> float:
    if not all(map(math.isfinite, (x, y, z))):
        return x * y + z
    total = Fraction(x) * Fraction(y) + Fraction(z)
    return float(total) if total else x * y + z


def _add_conversions(table: Dict[str, Callable[..., Any]]) -> None:
    import numpy as np

    rounding = {"rd": np.floor, "ru": np.ceil, "rz": np.trunc, "rn": np.rint}
    targets = {"int": np.int32, "uint": np.uint32, "ll": np.int64, "ull": np.uint64}

    def to_integer(round_, dtype):
        def convert(x):
            limits = np.iinfo(dtype)
            whole = round_(np.where(np.isnan(x), 0, x).astype(np.float64))
            high, low = whole >= float(limits.max), whole <= float(limits.min)
            inside = np.where(high | low, 0, whole).astype(dtype)
            return np.where(high, limits.max, np.where(low, limits.min, inside)).astype(dtype)

        return convert

    for kind, dtype in targets.items():
        for mode, round_ in rounding.items():
            for source in ("float", "double"):
                table[f"{source}2{kind}_{mode}"] = to_integer(round_, dtype)
        for target in ("float", "double"):
            table[f"{kind}2{target}_rn"] = lambda x: x
    table["double2float_rn"] = lambda x: x.astype(np.float32)
    table["llrint"] = to_integer(np.rint, np.int64)
    table["llround"] = to_integer(lambda x: np.copysign(np.floor(np.abs(x) + 0.5), x), np.int64)

    def view(dtype):
        return lambda x: np.ascontiguousarray(x).view(dtype)

    for name, same_bits in {
        "float_as_int": np.int32,
        "float_as_uint": np.uint32,
        "int_as_float": np.float32,
        "uint_as_float": np.float32,
        "double_as_longlong": np.int64,
        "longlong_as_double": np.float64,
    }.items():
        table[name] = view(same_bits)
    table["double2hiint"] = lambda x: (view(np.uint64)(x) >> np.uint64(32)).astype(np.int32)
    table["double2loint"] = lambda x: view(np.uint64)(x).astype(np.uint32).view(np.int32)
    table["hiloint2double"] = lambda high, low: (
        (high.astype(np.uint32).astype(np.uint64) << np.uint64(32)) | low.astype(np.uint32)
    ).view(np.float64)


def _add_integers(table: Dict[str, Callable[..., Any]]) -> None:
    import numpy as np

    def bits(operation: Callable[..., int], *, signed: bool = False) -> Callable[..., Any]:
        """`operation` on Python integers and the width in bits."""

        def call(*args):
            width = args[0].dtype.itemsize * 8
            mask = (1 << width) - 1

            def compute(*values):
                return (
                    operation(width, *(int(v) if signed else int(v) & mask for v in values)) & mask
                )

            results = np.frompyfunc(compute, len(args), 1)(*args)
            return np.asarray(results).astype(getattr(np, f"uint{width}"))

        return call

    table["popc"] = table["popcount"] = bits(lambda width, x: bin(x).count("1"))
    table["clz"] = bits(lambda width, x: width - x.bit_length())
    table["ffs"] = bits(lambda width, x: (x & -x).bit_length())
    table["brev"] = bits(lambda width, x: int(format(x, f"0{width}b")[::-1], 2))
    table["mulhi"] = table["mul64hi"] = bits(lambda width, x, y: (x * y) >> width, signed=True)
    table["umulhi"] = table["umul64hi"] = bits(lambda width, x, y: (x * y) >> width)
    table["mul24"] = bits(lambda width, x, y: _signed24(x) * _signed24(y))
    table["umul24"] = bits(lambda width, x, y: (x & 0xFFFFFF) * (y & 0xFFFFFF))
    table["hadd"] = bits(lambda width, x, y: (x + y) >> 1, signed=True)
    table["rhadd"] = bits(lambda width, x, y: (x + y + 1) >> 1, signed=True)
    table["uhadd"] = bits(lambda width, x, y: (x + y) >> 1)
    table["urhadd"] = bits(lambda width, x, y: (x + y + 1) >> 1)
    table["sad"] = bits(lambda width, x, y, z: abs(x - y) + z, signed=True)
    table["usad"] = bits(lambda width, x, y, z: abs(x - y) + z)
    table["byte_perm"] = bits(_byte_perm)
    table["abs"] = table["llabs"] = table["iabs"] = np.abs


def _signed24(value: int) -> int:
    low = value & 0xFFFFFF
    return low - (1 << 24) if low & 0x800000 else low


def _byte_perm(width: int, low: int, high: int, selector: int) -> int:
    pool = low | high << 32
    out = 0
    for place in range(4):
        choice = selector >> 4 * place & 0xF
        byte = pool >> 8 * (choice & 7) & 0xFF
        if choice & 8:
            byte = 0xFF if byte & 0x80 else 0
        out |= byte << 8 * place
    return out
