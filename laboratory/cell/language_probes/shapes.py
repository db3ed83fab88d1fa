"""Probes of shapes, reductions, scans and products."""

from typing import Any, Dict

import torch

from .elementwise import ANY, INTEGERS
from .probe import Probe, family

COMBINE = "@triton.jit\ndef combine(p, q):\n    return p + q"


def swizzled(i):
    """Where place `i` of an 8 x 8 grid goes, in groups of 4 rows that are walked column by column."""
    group, inside = i // 32, i % 32
    return (group * 4 + inside % 4) * 8 + inside // 4


SHAPES = (
    Probe("tl.arange", "r = tl.arange(0, 64)", lambda x, y: torch.arange(64), tolerance=0.0),
    Probe("tl.full", "r = tl.full([64], 3.0, tl.float32)", lambda x, y: torch.full((64,), 3.0)),
    Probe("tl.zeros", "r = tl.zeros([64], tl.float32)", lambda x, y: torch.zeros(64)),
    Probe("tl.zeros_like", "r = tl.zeros_like(x)", lambda x, y: torch.zeros(64)),
    Probe(
        "tl.broadcast",
        "c, d = tl.broadcast(tl.load(x_ptr + tl.arange(0, 32))[None, :], b)\nr = c - d",
        lambda a, b: a[0][None, :] - b,
        form="2d",
    ),
    Probe(
        "tl.broadcast_to",
        "c = tl.load(x_ptr + tl.arange(0, 32))[None, :]\nr = tl.broadcast_to(c, (32, 32))",
        lambda a, b: a[0][None, :].expand(32, 32),
        form="2d",
    ),
    Probe("tl.expand_dims", "r = tl.expand_dims(x, 1)", lambda x, y: x[:, None]),
    Probe("tl.cat", "r = tl.cat(x, y)", lambda x, y: torch.cat([x, y])),
    Probe(
        "tl.cat", "r = tl.sum(tl.cat(x, y, can_reorder=True), 0)",
        lambda x, y: torch.cat([x, y]).sum(), option="can_reorder=True",
    ),
    Probe(
        "tl.cat", "r = tl.cat(a, b, dim=1)", lambda a, b: torch.cat([a, b], 1),
        option="dim=1", form="2d",
    ),
    *family(
        Probe("tl.flip", "r = tl.flip(x{})", lambda x, y: x.flip(0)), "dim=0"
    ),
    Probe(
        "tl.gather",
        "index = tl.broadcast_to((31 - tl.arange(0, 32))[None, :], (32, 32))\nr = tl.gather(a, index, axis=1)",
        lambda a, b: a.flip(1),
        form="2d",
    ),
    Probe("tl.join", "r = tl.join(x, y)", lambda x, y: torch.stack([x, y], -1)),
    Probe("tl.split", "p, q = tl.split(tl.join(x, y))\nr = p - q", lambda x, y: x - y),
    Probe("tensor.split", "p, q = tl.join(x, y).split()\nr = p - q", lambda x, y: x - y),
    Probe(
        "tl.interleave", "r = tl.interleave(x, y)", lambda x, y: torch.stack([x, y], -1).reshape(128)
    ),
    Probe("tl.permute", "r = tl.permute(a, (1, 0))", lambda a, b: a.T, form="2d"),
    Probe("tl.trans", "r = tl.trans(a)", lambda a, b: a.T, form="2d"),
    Probe("tensor.T", "r = a.T", lambda a, b: a.T, form="2d"),
    Probe("tl.reshape", "r = tl.reshape(x, (32, 2))", lambda x, y: x.view(32, 2)),
    Probe(
        "tl.reshape", "r = tl.sum(tl.reshape(a, (1024,), can_reorder=True), 0)",
        lambda a, b: a.sum(), option="can_reorder=True", form="2d",
    ),
    Probe("tl.view", "r = tl.sum(tl.view(a, (1024,)), 0)", lambda a, b: a.sum(), form="2d"),
    Probe("tl.ravel", "r = tl.ravel(a)", lambda a, b: a.reshape(1024), form="2d"),
    Probe(
        "tl.ravel", "r = tl.sum(tl.ravel(a, can_reorder=True), 0)", lambda a, b: a.sum(),
        option="can_reorder=True", form="2d",
    ),
    Probe("tl.squeeze", "r = tl.squeeze(x[:, None], 1)", lambda x, y: x),
    Probe("tl.unsqueeze", "r = tl.unsqueeze(x, 1)", lambda x, y: x[:, None]),
    Probe("tensor.item", "r = tl.load(x_ptr + tl.arange(0, 1)).item()", lambda x, y: x[0]),
    Probe(
        "tl.swizzle2d",
        "p, q = tl.swizzle2d(i // 8, i % 8, 8, 8, 4)\nr = p * 8 + q",
        lambda x, y: swizzled(torch.arange(64)),
        tolerance=0.0,
    ),
)  # fmt: skip

REDUCTIONS = (
    *family(
        Probe("tl.sum", "r = tl.sum(a, axis=0{})", lambda a, b: a.sum(0), form="2d"),
        "dtype=tl.float32",
    ),
    Probe("tl.max", "r = tl.max(a, axis=0)", lambda a, b: a.amax(0), form="2d"),
    Probe("tl.min", "r = tl.min(a, axis=0)", lambda a, b: a.amin(0), form="2d"),
    *(
        Probe(
            f"tl.{name}", f"r = tl.{name}(a, axis=0, keep_dims=True)",
            lambda a, b, f=function: f(a, 0)[None, :], option="keep_dims=True", form="2d",
        )
        for name, function in (
            ("sum", torch.sum), ("max", torch.amax), ("min", torch.amin),
            ("argmax", torch.argmax), ("argmin", torch.argmin),
        )
    ),
    *(
        Probe(
            f"tl.{name}", f"v, r = tl.{name}(a, axis=0, {options})",
            lambda a, b, f=function: f(a, 0).int(), option=option, form="2d", tolerance=0.0,
        )
        for name, function in (("max", torch.argmax), ("min", torch.argmin))
        for option, options in (
            ("return_indices=True", "return_indices=True"),
            (
                "return_indices_tie_break_left=False",
                "return_indices=True, return_indices_tie_break_left=False",
            ),
        )
    ),
    *(
        probe
        for name, function in (("argmax", torch.argmax), ("argmin", torch.argmin))
        for probe in family(
            Probe(
                f"tl.{name}", f"r = tl.{name}(a, axis=0{{}})",
                lambda a, b, f=function: f(a, 0).int(), form="2d", tolerance=0.0,
            ),
            "tie_break_left=False",
        )
    ),
    Probe(
        "tl.xor_sum", "r = tl.xor_sum(x, axis=0)",
        lambda x, y: _folded(x, torch.bitwise_xor), **INTEGERS,
    ),
    Probe(
        "tl.reduce_or", "r = tl.reduce_or(x, axis=0)",
        lambda x, y: _folded(x, torch.bitwise_or), **INTEGERS,
    ),
    Probe(
        "tl.reduce", "r = tl.reduce(a, 0, combine, keep_dims=True)",
        lambda a, b: a.sum(0)[None, :], option="keep_dims=True", form="2d", header=COMBINE,
    ),
    Probe(
        "tl.xor_sum", "r = tl.xor_sum(a, axis=0, keep_dims=True)",
        lambda a, b: _folded(a, torch.bitwise_xor)[None, :], option="keep_dims=True", form="2d", **INTEGERS,
    ),
    Probe(
        "tl.reduce_or", "r = tl.reduce_or(a, axis=0, keep_dims=True)",
        lambda a, b: _folded(a, torch.bitwise_or)[None, :], option="keep_dims=True", form="2d", **INTEGERS,
    ),
    Probe(
        "tl.reduce", "r = tl.reduce(a, 0, combine)", lambda a, b: a.sum(0), form="2d", header=COMBINE
    ),
    Probe(
        "tl.associative_scan", "r = tl.associative_scan(x, 0, combine)", lambda x, y: x.cumsum(0),
        header=COMBINE,
    ),
    Probe(
        "tl.associative_scan", "r = tl.associative_scan(x, 0, combine, reverse=True)",
        lambda x, y: x.flip(0).cumsum(0).flip(0), option="reverse=True", header=COMBINE,
    ),
    *(
        probe
        for name, function, domain in (
            ("cumsum", torch.cumsum, ANY), ("cumprod", torch.cumprod, {"low": 0.9, "high": 1.1}),
        )
        for probe in (
            *family(
                Probe(
                    f"tl.{name}", f"r = tl.{name}(x, axis=0{{}})",
                    lambda x, y, f=function: f(x, 0), **domain,
                ),
                "dtype=tl.float32",
            ),
            Probe(
                f"tl.{name}", f"r = tl.{name}(x, axis=0, reverse=True)",
                lambda x, y, f=function: f(x.flip(0), 0).flip(0), option="reverse=True", **domain,
            ),
        )
    ),
    Probe("tl.sort", "r = tl.sort(x)", lambda x, y: x.sort()[0]),
    Probe("tl.sort", "r = tl.sort(x, dim=0)", lambda x, y: x.sort()[0], option="dim=0"),
    Probe(
        "tl.sort", "r = tl.sort(x, descending=True)", lambda x, y: x.sort(descending=True)[0],
        option="descending=True",
    ),
    Probe("tl.topk", "r = tl.topk(x, 8)", lambda x, y: x.topk(8)[0]),
    Probe("tl.topk", "r = tl.topk(x, 8, dim=0)", lambda x, y: x.topk(8)[0], option="dim=0"),
    Probe(
        "tl.topk", "r = tl.topk(x, 8, descending=False)",
        lambda x, y: x.topk(8, largest=False)[0].sort()[0], option="descending=False",
    ),
    Probe(
        "tl.bitonic_merge", "r = tl.bitonic_merge(tl.where(i < 32, 2 * i, 127 - 2 * i))",
        lambda x, y: torch.arange(64), tolerance=0.0,
    ),
    Probe(
        "tl.histogram", "r = tl.histogram(x, 16)", lambda x, y: x.bincount(minlength=16),
        **{**INTEGERS, "low": 0, "high": 16},
    ),
    Probe(
        "tl.histogram", "r = tl.histogram(x, 16, mask=i < 40)",
        lambda x, y: x[:40].bincount(minlength=16), option="mask=i < 40",
        **{**INTEGERS, "low": 0, "high": 16},
    ),
    Probe(
        "tl.map_elementwise", "r = tl.map_elementwise(bigger, x, y)", torch.maximum,
        header="@triton.jit\ndef bigger(p, q):\n    if p > q:\n        return p\n    else:\n        return q",
    ),
    Probe(
        "tl.map_elementwise", "t = tl.map_elementwise(bigger, a, b, pack=2)\nr = t[0]", torch.maximum,
        option="pack=2", form="2d",
        header="@triton.jit\ndef bigger(p, p2, q, q2):\n    return tl.maximum(p, q), tl.maximum(p2, q2)",
    ),
)  # fmt: skip


def _folded(x, function):
    total = x[0]
    for one in x[1:]:
        total = function(total, one)
    return total


_PRODUCT = Probe(
    "tl.dot", "r = tl.dot(a, b{})", lambda a, b: a @ b, form="2d", tolerance=2e-3
)  # fmt: skip
_HALF: Dict[str, Any] = {"dtype": "float16", "form": "2d", "tolerance": 2e-3}
_SCALED = (
    "m = tl.arange(0, 32)\nk = tl.arange(0, 64)\n"
    "p = tl.load(x_ptr + m[:, None] * 64 + k[None, :])\n"
    "q = tl.load(y_ptr + k[:, None] * 32 + m[None, :])\n"
    "s = tl.full([32, 2], 128, tl.uint8)\n"
    'r = tl.dot_scaled(p, s, "e5m2", q, s, "e5m2"{})\n'
    "tl.store(out_ptr + m[:, None] * 32 + m[None, :], r)"
)


def _scaled(x, y):
    p = x[:2048].view(32, 64).view(torch.float8_e5m2).float()
    q = y[:2048].view(64, 32).view(torch.float8_e5m2).float()
    # Each scale is 2, for both operands.
    return 4 * (p @ q)


PRODUCTS = (
    *family(
        _PRODUCT,
        *(f'input_precision="{word}"' for word in ("tf32", "tf32x3", "ieee", "bf16x3", "bf16x6")),
        "allow_tf32=True",
        "allow_tf32=False",
        "max_num_imprecise_acc=0",
        "out_dtype=tl.float32",
    ),
    Probe("tl.dot", "r = tl.dot(a, b, acc=a)", lambda a, b: a @ b + a, option="acc=a", form="2d", tolerance=2e-3),
    Probe(
        "tl.dot", "r = tl.dot(a, b, out_dtype=tl.float16)",
        lambda a, b: (a.float() @ b.float()).half(), option="out_dtype=tl.float16", **_HALF,
    ),
    *family(
        Probe(
            "tl.dot_scaled", _SCALED, _scaled, form="free", dtype="uint8", low=48, high=64,
            tolerance=1e-2,
        ),
        "fast_math=True",
        "out_dtype=tl.float32",
        "acc=tl.zeros([32, 32], tl.float32)",
        "lhs_k_pack=True",
        "rhs_k_pack=True",
    ),
)  # fmt: skip

PROBES = (*SHAPES, *REDUCTIONS, *PRODUCTS)
