"""Probes of elementwise operations, and of the types."""

from typing import Any, Dict

import torch

from .probe import Probe, family

ANY: Dict[str, Any] = {}
POSITIVE: Dict[str, Any] = {"low": 0.1, "high": 3.0}
INTEGERS: Dict[str, Any] = {"dtype": "int32", "low": -50, "high": 50, "tolerance": 0.0}
COUNTS: Dict[str, Any] = {"dtype": "int32", "low": 1, "high": 2**31 - 1, "tolerance": 0.0}
_WITH_NAN = "x = tl.where(i == 3, float('nan'), x)\n"


def with_nan(x):
    """`x` with a NaN where `_WITH_NAN` puts one."""
    return torch.where(torch.arange(64) == 3, torch.full_like(x, float("nan")), x)


def toward_zero(x):
    """fp16 rounded toward zero: the nearest one, or its neighbour where that is farther from zero than `x`."""
    near = x.half()
    away = near.float().abs() > x.abs()
    return (near.view(torch.int16) - away.to(torch.int16)).view(torch.float16)


UNARY = tuple(
    Probe(f"tl.{name}", f"r = tl.{name}(x)", lambda x, y, f=function: f(x), **domain)
    for name, function, domain in (
        ("abs", torch.abs, ANY),
        ("ceil", torch.ceil, ANY),
        ("cos", torch.cos, ANY),
        ("erf", torch.erf, ANY),
        ("exp", torch.exp, ANY),
        ("exp2", torch.exp2, ANY),
        ("floor", torch.floor, ANY),
        ("log", torch.log, POSITIVE),
        ("log2", torch.log2, POSITIVE),
        ("rsqrt", torch.rsqrt, POSITIVE),
        ("sigmoid", torch.sigmoid, ANY),
        ("sin", torch.sin, ANY),
        ("sqrt", torch.sqrt, POSITIVE),
        ("sqrt_rn", torch.sqrt, POSITIVE),
    )
)

BINARY = (
    *family(
        Probe("tl.fdiv", "r = tl.fdiv(x, y{})", lambda x, y: x / y, **POSITIVE),
        "ieee_rounding=True",
        "approx=True",
    ),
    Probe("tl.div_rn", "r = tl.div_rn(x, y)", lambda x, y: x / y, **POSITIVE),
    *family(
        Probe("tl.add", "r = tl.add(x, y{})", lambda x, y: x + y, **INTEGERS),
        "sanitize_overflow=False",
    ),
    *family(
        Probe("tl.sub", "r = tl.sub(x, y{})", lambda x, y: x - y, **INTEGERS),
        "sanitize_overflow=False",
    ),
    *family(
        Probe("tl.mul", "r = tl.mul(x, y{})", lambda x, y: x * y, **INTEGERS),
        "sanitize_overflow=False",
    ),
    Probe(
        "tl.umulhi",
        "r = tl.umulhi(x, y)",
        lambda x, y: ((x.long() * y.long()) >> 32).int(),
        **COUNTS,
    ),
    Probe("tl.cdiv", "r = tl.cdiv(x, 7)", lambda x, y: (x + 6) // 7, **{**INTEGERS, "low": 1}),
    Probe("tl.fma", "r = tl.fma(x, y, x)", lambda x, y: x * y + x),
    Probe("tl.maximum", "r = tl.maximum(x, y)", torch.maximum),
    Probe("tl.minimum", "r = tl.minimum(x, y)", torch.minimum),
    Probe("tl.clamp", "r = tl.clamp(x, -1.0, 1.0)", lambda x, y: x.clamp(-1, 1)),
    Probe("tl.where", "r = tl.where(x > y, x, y)", torch.maximum),
    *(
        Probe(
            f"tl.{name}",
            f"{_WITH_NAN}r = tl.{name}(x, {rest}, propagate_nan=tl.PropagateNan.{value})",
            reference,
            option=f"propagate_nan=tl.PropagateNan.{value}",
        )
        for name, rest, value, reference in (
            ("maximum", "y", "ALL", lambda x, y: torch.maximum(with_nan(x), y)),
            ("maximum", "y", "NONE", lambda x, y: torch.fmax(with_nan(x), y)),
            ("minimum", "y", "ALL", lambda x, y: torch.minimum(with_nan(x), y)),
            ("minimum", "y", "NONE", lambda x, y: torch.fmin(with_nan(x), y)),
            ("clamp", "-1.0, 1.0", "ALL", lambda x, y: with_nan(x).clamp(-1, 1)),
        )
    ),
    Probe(
        "tl.PropagateNan",
        f"{_WITH_NAN}r = tl.maximum(x, y, propagate_nan=tl.PropagateNan.ALL)",
        lambda x, y: torch.maximum(with_nan(x), y),
    ),
    Probe(
        "tensor.logical_and",
        "r = (x > 0).logical_and(y > 0).to(tl.int32)",
        lambda x, y: (x > 0) & (y > 0),
    ),
    Probe(
        "tensor.logical_or",
        "r = (x > 0).logical_or(y > 0).to(tl.int32)",
        lambda x, y: (x > 0) | (y > 0),
    ),
)

SOFTMAX = (
    *family(
        Probe("tl.softmax", "r = tl.softmax(x{})", lambda x, y: torch.softmax(x, 0)),
        "ieee_rounding=True",
    ),
    *(
        Probe(
            "tl.softmax", f"r = tl.softmax(a, {options})", lambda a, b: torch.softmax(a, 1),
            option=option, form="2d",
        )
        for option, options in (("dim=1", "dim=1"), ("keep_dims=True", "dim=1, keep_dims=True"))
    ),
)  # fmt: skip

CASTS = (
    Probe("tl.cast", "r = tl.cast(x, tl.float16)", lambda x, y: x.half()),
    Probe("tensor.to", "r = x.to(tl.float16)", lambda x, y: x.half()),
    *(
        Probe(
            name,
            f'r = {call}, fp_downcast_rounding="{rounding}")',
            reference,
            option=f'fp_downcast_rounding="{rounding}"',
            tolerance=0.0,
        )
        for name, call in (("tl.cast", "tl.cast(x, tl.float16"), ("tensor.to", "x.to(tl.float16"))
        for rounding, reference in (
            ("rtne", lambda x, y: x.half()),
            ("rtz", lambda x, y: toward_zero(x)),
        )
    ),
    *(
        Probe(
            name, f"r = {call}, bitcast=True)", lambda x, y: x.view(torch.int32),
            option="bitcast=True", tolerance=0.0,
        )
        for name, call in (("tl.cast", "tl.cast(x, tl.int32"), ("tensor.to", "x.to(tl.int32"))
    ),
)  # fmt: skip


def _through(name, torch_name, **changes):
    """Into the type and back."""
    back = changes.pop("back", "float32")
    return Probe(
        f"tl.{name}",
        f"r = x.to(tl.{name}).to(tl.{back})",
        # Looked up when it runs: older versions of torch lack some.
        lambda x, y: x.to(getattr(torch, torch_name)).to(getattr(torch, back)),
        **{"tolerance": 0.0, **changes},
    )


TYPES = (
    _through("float16", "float16"),
    _through("bfloat16", "bfloat16"),
    _through("float32", "float32", dtype="float64", back="float64"),
    _through("float64", "float64"),
    _through("float8e5", "float8_e5m2"),
    _through("float8e4nv", "float8_e4m3fn"),
    _through("float8e5b16", "float8_e5m2fnuz"),
    _through("float8e4b8", "float8_e4m3fnuz"),
    *(
        Probe(f"tl.{name}", f"r = x.to(tl.{name}).to(tl.float32)")
        for name in ("float8e4b15", "float8e4b15x4")
    ),
    *(
        _through(name, name, low=-100, high=100, back="int64")
        for name in ("int8", "int16", "int32", "int64")
    ),
    *(
        Probe(
            f"tl.{name}", f"r = x.to(tl.{name}).to(tl.int64)",
            lambda x, y, bits=bits: x.long() & (2**bits - 1),
            dtype="int32", low=0, high=2**31 - 1, tolerance=0.0,
        )
        for name, bits in (("uint8", 8), ("uint16", 16), ("uint32", 32), ("uint64", 63))
    ),
    Probe("tl.int1", "r = (x > 0).to(tl.int1).to(tl.int32)", lambda x, y: x > 0),
    Probe(
        "tl.pointer_type",
        "r = tl.load(x_ptr.to(tl.int64).to(tl.pointer_type(tl.float32)) + i)",
        lambda x, y: x,
    ),
    Probe(
        "tl.constexpr", "r = x * FACTOR", lambda x, y: x * 3, header="FACTOR = tl.constexpr(3)"
    ),
    Probe("tl.tuple", "t = tl.tuple([x, y])\nr = t[0] - t[1]", lambda x, y: x - y),
    Probe("tl.to_tensor", "r = x + tl.to_tensor(2.0)", lambda x, y: x + 2),
)  # fmt: skip

PROBES = (*UNARY, *BINARY, *SOFTMAX, *CASTS, *TYPES)
