"""Probes of the device libraries of NVIDIA and AMD, by the types that each function takes."""

import math
from typing import Any, Callable, Dict, Tuple

import torch

from .probe import Probe

_HEADER = "from triton.language.extra import libdevice"
_AWAY: Dict[str, Any] = {"low": 0.1, "high": 0.9}
_ABOVE_1: Dict[str, Any] = {"low": 1.1, "high": 3.0}
_INT: Dict[str, Any] = {"dtype": "int32", "low": 1, "high": 1000}
_LONG: Dict[str, Any] = {**_INT, "dtype": "int64"}
_DOUBLE: Dict[str, Any] = {"dtype": "float64"}

# PyTorch's functions, by their names there.
_SAME = (
    "abs acos asin asinh atan ceil cos cosh erf erfc erfinv exp exp2 expm1 floor isinf isnan lgamma"
    " log log10 log1p log2 round rsqrt signbit sin sinh sqrt tan tanh trunc"
).split()
_REFERENCES: Dict[str, Callable] = {
    **{name: getattr(torch, name) for name in _SAME if hasattr(torch, name)},
    "acosh": torch.acosh,
    "atanh": torch.atanh,
    "cbrt": lambda x: x ** (1 / 3),
    "rcbrt": lambda x: x ** (-1 / 3),
    "exp10": lambda x: 10**x,
    "rint": torch.round,
    "nearbyint": torch.round,
    "round": lambda x: torch.copysign((x.abs() + 0.5).floor(), x),
    "saturatef": lambda x: x.clamp(0, 1),
    "sinpi": lambda x: torch.sin(math.pi * x.double()).float(),
    "cospi": lambda x: torch.cos(math.pi * x.double()).float(),
    "tgamma": lambda x: torch.exp(torch.lgamma(x)),
    "normcdf": torch.special.ndtr,
    "normcdfinv": torch.special.ndtri,
    "erfcx": torch.special.erfcx,
    "j0": torch.special.bessel_j0,
    "j1": torch.special.bessel_j1,
    "y0": torch.special.bessel_y0,
    "y1": torch.special.bessel_y1,
    "cyl_bessel_i0": torch.special.i0,
    "cyl_bessel_i1": torch.special.i1,
    "finitef": torch.isfinite,
    "isfinited": torch.isfinite,
    "float_as_int": lambda x: x.view(torch.int32),
    "int_as_float": lambda x: x.view(torch.float32),
    "double_as_longlong": lambda x: x.view(torch.int64),
    "longlong_as_double": lambda x: x.view(torch.float64),
    "llrint": lambda x: x.round().long(),
    "sqrt_rn": torch.sqrt,
    "rsqrt_rn": torch.rsqrt,
    "rcp_rn": torch.reciprocal,
    "ilogb": lambda x: x.log2().floor().int(),
    "logb": lambda x: x.log2().floor(),
    "popc": lambda x: torch.tensor([bin(one).count("1") for one in x.tolist()]),
    "clz": lambda x: torch.tensor([32 - one.bit_length() for one in x.tolist()]),
    "ffs": lambda x: torch.tensor([(one & -one).bit_length() for one in x.tolist()]),
}
_PAIRS: Dict[str, Callable] = {
    "atan2": torch.atan2,
    "copysign": torch.copysign,
    "div_rn": torch.div,
    "add_rn": torch.add,
    "mul_rn": torch.mul,
    "sub_rn": torch.sub,
    "fmod": torch.fmod,
    "hypot": torch.hypot,
    "pow": torch.pow,
    "fdim": lambda x, y: (x - y).clamp(min=0),
    "nextafter": torch.nextafter,
    "rhypot": lambda x, y: 1 / torch.hypot(x, y),
    "mulhi": lambda x, y: ((x.long() * y.long()) >> 32).int(),
    "mul24": torch.mul,
    "hadd": lambda x, y: (x + y) >> 1,
    "rhadd": lambda x, y: (x + y + 1) >> 1,
    "fast_dividef": torch.div,
    "fast_powf": torch.pow,
    "max": torch.maximum,
    "min": torch.minimum,
}
_FAST: Dict[str, Callable] = {
    "fast_cosf": torch.cos,
    "fast_exp10f": lambda x: 10**x,
    "fast_expf": torch.exp,
    "fast_log10f": torch.log10,
    "fast_log2f": torch.log2,
    "fast_logf": torch.log,
    "fast_sinf": torch.sin,
    "fast_tanf": torch.tan,
    "fast_tanhf": torch.tanh,
}
_DOMAINS: Dict[str, Dict[str, Any]] = {
    **dict.fromkeys("acosh".split(), _ABOVE_1),
    **dict.fromkeys("ffs clz popc brev int_as_float uint_as_float".split(), _INT),
    **dict.fromkeys("mulhi mul24 hadd rhadd".split(), _INT),
    **dict.fromkeys(
        "double_as_longlong isfinited rcp64h double2hiint double2loint".split(), _DOUBLE
    ),
    "longlong_as_double": _LONG,
}
_ROUNDINGS = ("rd", "rn", "ru", "rz")
_CONVERSIONS: Tuple[Tuple[str, Dict[str, Any]], ...] = (
    ("double2float", _DOUBLE), ("double2int", _DOUBLE), ("double2ll", _DOUBLE),
    ("double2uint", _DOUBLE), ("double2ull", _DOUBLE), ("float2int", {}), ("float2ll", {}),
    ("float2uint", {}), ("float2ull", {}), ("int2float", _INT), ("uint2float", _INT),
    ("ll2double", _LONG), ("ll2float", _LONG), ("ull2double", _LONG), ("ull2float", _LONG),
)  # fmt: skip
# For those whose arguments PyTorch cannot hold: unsigned words.
_UNSIGNED = {
    "uint2": "x.to(tl.uint32, bitcast=True)", "ull2": "x.to(tl.uint64, bitcast=True)",
    "uint_": "x.to(tl.uint32, bitcast=True)",
}  # fmt: skip


def _one(name, arguments="x", reference=None, **domain):
    arguments = _UNSIGNED.get(name[:5], _UNSIGNED.get(name[:4], arguments))
    return Probe(
        f"libdevice.{name}",
        f"r = libdevice.{name}({arguments})",
        reference,
        header=_HEADER,
        **{"tolerance": 1e-4, **_AWAY, **domain},
    )


UNARY = (
    *(
        _one(name, reference=lambda x, y, f=function: f(x), **_DOMAINS.get(name, {}))
        for name, function in {**_REFERENCES, **_FAST}.items()
    ),
    *(
        _one(name, **_DOMAINS.get(name, {}))
        for name in (
            *("brev", "double2hiint", "double2loint", "erfcinv", "float_as_uint", "llround"),
            *("rcp64h", "uint_as_float"),
        )
    ),
    *(_one(f"{name}_{way}") for name in ("rcp", "sqrt") for way in ("rd", "ru", "rz")),
    *(_one(f"{name}_{way}", **domain) for name, domain in _CONVERSIONS for way in _ROUNDINGS),
    *(_one(f"{name}2double_rn", **_INT) for name in ("int", "uint")),
)

OTHERS = (
    *(
        _one(name, "x, y", lambda x, y, f=function: f(x, y), **_DOMAINS.get(name, {}))
        for name, function in _PAIRS.items()
    ),
    _one("remainder", "x, y"),
    *(
        _one(f"{name}_{way}", "x, y")
        for name in ("add", "div", "mul", "sub")
        for way in ("rd", "ru", "rz")
    ),
    _one("hiloint2double", "x, y", **_INT),
    *(_one(name, "i, x", low=0.5) for name in ("jn", "yn")),
    *(_one(name, "x, i", lambda x, y: torch.ldexp(x, torch.arange(64))) for name in ("ldexp", "scalbn")),
    _one("fma", "x, y, x", lambda x, y: x * y + x),
    *(_one(f"fma_{way}", "x, y, x") for way in _ROUNDINGS),
    _one("byte_perm", "x, y, x", **_INT),
    _one("sad", "x, y, x.to(tl.uint32, bitcast=True)", **_INT),
    _one("norm3d", "x, y, x", lambda x, y: (2 * x * x + y * y).sqrt()),
    _one("rnorm3d", "x, y, x", lambda x, y: (2 * x * x + y * y).rsqrt()),
    _one("norm4d", "x, y, x, y", lambda x, y: (2 * x * x + 2 * y * y).sqrt()),
    _one("rnorm4d", "x, y, x, y", lambda x, y: (2 * x * x + 2 * y * y).rsqrt()),
)  # fmt: skip

VENDORS = (
    *(
        Probe(f"tl.extra.cuda.{name}", f"r = x + tl.extra.cuda.{name}()", header=header)
        for name in ("num_threads", "num_warps", "smid", "globaltimer")
        for header in ("import triton.language.extra.cuda",)
    ),
    *(
        Probe(
            f"tl.extra.cuda.{name}", f"tl.extra.cuda.{name}()\nr = x",
            header="import triton.language.extra.cuda",
        )
        for name in ("gdc_wait", "gdc_launch_dependents")
    ),
    *(
        Probe(
            f"tl.extra.hip.{name}", f"r = x + tl.extra.hip.{name}()",
            header="import triton.language.extra.hip",
        )
        for name in ("num_threads", "num_warps", "smid", "memrealtime")
    ),
)  # fmt: skip

PROBES = (*UNARY, *OTHERS, *VENDORS)
