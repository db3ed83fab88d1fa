"""Probes of loads, stores, atomics, block pointers and tensor descriptors."""

import torch

from .elementwise import ANY, INTEGERS
from .probe import Probe, family

_FIRST_40 = torch.arange(64) < 40
_BLOCK = (
    "p = tl.make_block_ptr(x_ptr, (30, 32), (32, 1), (0, 0), (32, 32), (1, 0))\n"
    "r = tl.load(p{})\n"
    "tl.store(out_ptr + tl.arange(0, 32)[:, None] * 32 + tl.arange(0, 32)[None, :], r)"
)
_BLOCK_OUT = (
    "p = tl.make_block_ptr(out_ptr, (30, 32), (32, 1), (0, 0), (32, 32), (1, 0))\n"
    "tl.store(p, a, boundary_check=(0,))"
)


def masked(x, other=0.0):
    """The first 40 of `x`, and `other` for the rest."""
    return torch.where(_FIRST_40, x, torch.full_like(x, other))


def rows(x, count=30):
    """The first rows of a matrix of 32 x 32 in `x`, and 0 below."""
    matrix = x[:1024].view(32, 32).clone()
    matrix[count:] = 0
    return matrix


LOADS = (
    *family(
        Probe("tl.load", "r = tl.load(x_ptr + i{})", lambda x, y: x),
        *(f'cache_modifier="{word}"' for word in (".ca", ".cg", ".cv")),
        *(f'eviction_policy="{word}"' for word in ("evict_first", "evict_last")),
        "volatile=True",
    ),
    Probe(
        "tl.load", "r = tl.where(i < 40, tl.load(x_ptr + i, mask=i < 40), 0.0)",
        lambda x, y: masked(x), option="mask=i < 40",
    ),
    Probe(
        "tl.load", "r = tl.load(x_ptr + i, mask=i < 40, other=7.0)", lambda x, y: masked(x, 7.0),
        option="other=7.0",
    ),
    *(
        Probe(
            "tl.load", _BLOCK.replace("{}", f", {options}"), lambda x, y: rows(x), option=option,
            form="free",
        )
        for option, options in (
            ("boundary_check=(0,)", 'boundary_check=(0,), padding_option="zero"'),
            ('padding_option="zero"', 'boundary_check=(0,), padding_option="zero"'),
        )
    ),
    *family(
        Probe("tl.store", "tl.store(out_ptr + i, x{})", lambda x, y: x),
        *(f'cache_modifier="{word}"' for word in (".wb", ".cg", ".cs", ".wt")),
        *(f'eviction_policy="{word}"' for word in ("evict_first", "evict_last")),
    ),
    Probe(
        "tl.store", "tl.store(out_ptr + i, x, mask=i < 40)", lambda x, y: masked(x, -1.0),
        option="mask=i < 40", start=-1.0,
    ),
    Probe(
        "tl.store", _BLOCK_OUT, lambda a, b: rows(a.reshape(1024)), option="boundary_check=(0,)",
        form="2d", start=0.0,
    ),
    Probe("tensor.store", "(out_ptr + i).store(x)", lambda x, y: x),
)  # fmt: skip

BLOCKS = (
    Probe(
        "tl.make_block_ptr",
        _BLOCK.replace("{}", '').replace("(30, 32)", "(32, 32)"),
        lambda x, y: x[:1024].view(32, 32),
        form="free",
    ),
    *(
        Probe(
            name,
            "p = tl.make_block_ptr(x_ptr, (128,), (1,), (0,), (64,), (0,))\n"
            f"r = tl.load({call})\ntl.store(out_ptr + tl.arange(0, 64), r)",
            lambda x, y: x[64:128],
            form="free",
        )
        for name, call in (
            ("tl.advance", "tl.advance(p, (64,))"), ("tensor.advance", "p.advance((64,))"),
        )
    ),
)  # fmt: skip

_DESCRIPTOR = "d = tl.make_tensor_descriptor(x_ptr, [32, 32], [32, 1], [32, 32]{})\n"
_TO = "d = tl.make_tensor_descriptor(out_ptr, [32, 32], [32, 1], [32, 32])\n"
_STORE = "tl.store(out_ptr + tl.arange(0, 32)[:, None] * 32 + tl.arange(0, 32)[None, :], r)"


def _matrix(x, y):
    return x[:1024].view(32, 32)


DESCRIPTORS = (
    *family(
        Probe(
            "tl.make_tensor_descriptor", f"{_DESCRIPTOR}r = d.load([0, 0])\n{_STORE}", _matrix,
            form="free",
        ),
        'padding_option="zero"',
        'padding_option="nan"',
    ),
    Probe(
        "tl.load_tensor_descriptor",
        f"{_DESCRIPTOR.replace('{}', '')}r = tl.load_tensor_descriptor(d, [0, 0])\n{_STORE}",
        _matrix,
        form="free",
    ),
    Probe(
        "tl.store_tensor_descriptor", f"{_TO}tl.store_tensor_descriptor(d, [0, 0], a)",
        lambda a, b: a, form="2d",
    ),
    Probe(
        "tensor_descriptor.load",
        f"{_DESCRIPTOR.replace('{}', '')}r = d.load([0, 0])\n{_STORE}",
        _matrix,
        form="free",
    ),
    Probe("tensor_descriptor.store", f"{_TO}d.store([0, 0], a)", lambda a, b: a, form="2d"),
    *(
        Probe(
            f"tensor_descriptor.atomic_{name}", f"{_TO}d.atomic_{name}([0, 0], a)", reference,
            form="2d", start=start, **domain,
        )
        for name, start, reference, domain in (
            ("add", 1.0, lambda a, b: a + 1, ANY),
            ("max", 1, lambda a, b: a.clamp(min=1), INTEGERS),
            ("min", 1, lambda a, b: a.clamp(max=1), INTEGERS),
            ("and", 7, lambda a, b: a & 7, INTEGERS),
            ("or", 7, lambda a, b: a | 7, INTEGERS),
            ("xor", 7, lambda a, b: a ^ 7, INTEGERS),
        )
    ),
    Probe(
        "tensor_descriptor.gather",
        "d = tl.make_tensor_descriptor(x_ptr, [32, 32], [32, 1], [1, 32])\n"
        f"r = d.gather(31 - tl.arange(0, 32), 0)\n{_STORE}",
        lambda x, y: _matrix(x, y).flip(0),
        form="free",
    ),
    Probe(
        "tensor_descriptor.scatter",
        "d = tl.make_tensor_descriptor(out_ptr, [32, 32], [32, 1], [1, 32])\n"
        "d.scatter(a, 31 - tl.arange(0, 32), 0)",
        lambda a, b: a.flip(0),
        form="2d",
    ),
)  # fmt: skip


def _atomic(name, reference, start, rest="x", **domain):
    """Probe `tl.atomic_<name>` on the output's contents, with each of its options."""
    base = Probe(
        f"tl.atomic_{name}", f"tl.atomic_{name}(out_ptr + i, {rest}{{}})", reference,
        start=start, **domain,
    )  # fmt: skip
    return family(
        base,
        *(f'sem="{word}"' for word in ("relaxed", "acquire", "release", "acq_rel")),
        *(f'scope="{word}"' for word in ("gpu", "cta", "sys")),
    )


ATOMICS = (
    *_atomic("add", lambda x, y: x + 1, 1.0),
    *_atomic("max", lambda x, y: x.clamp(min=1), 1.0, **INTEGERS),
    *_atomic("min", lambda x, y: x.clamp(max=1), 1.0, **INTEGERS),
    *_atomic("and", lambda x, y: x & 7, 7, **INTEGERS),
    *_atomic("or", lambda x, y: x | 7, 7, **INTEGERS),
    *_atomic("xor", lambda x, y: x ^ 7, 7, **INTEGERS),
    *_atomic("xchg", lambda x, y: x, 7, **INTEGERS),
    *_atomic(
        "cas", lambda x, y: x, 7, rest="tl.full([64], 7, tl.int32), x", **INTEGERS
    ),
    *(
        Probe(
            f"tl.atomic_{name}", f"tl.atomic_{name}(out_ptr + i, x, mask=i < 40)", reference,
            option="mask=i < 40", start=7, **INTEGERS,
        )
        for name, reference in (
            ("add", lambda x, y: masked(x + 7, 7)),
            ("max", lambda x, y: masked(x.clamp(min=7), 7)),
            ("min", lambda x, y: masked(x.clamp(max=7), 7)),
            ("and", lambda x, y: masked(x & 7, 7)),
            ("or", lambda x, y: masked(x | 7, 7)),
            ("xor", lambda x, y: masked(x ^ 7, 7)),
            ("xchg", lambda x, y: masked(x, 7)),
        )
    ),
    *family(
        Probe("tl.atomic_load", "r = tl.atomic_load(x_ptr + i{})", lambda x, y: x),
        *(f'sem="{word}"' for word in ("relaxed", "acquire")),
        'scope="sys"',
    ),
    *family(
        Probe("tl.atomic_store", "tl.atomic_store(out_ptr + i, x{})", lambda x, y: x),
        *(f'sem="{word}"' for word in ("relaxed", "release")),
        'scope="sys"',
    ),
    Probe(
        "tl.atomic_store", "tl.atomic_store(out_ptr + i, x, mask=i < 40)",
        lambda x, y: masked(x, -1.0), option="mask=i < 40", start=-1.0,
    ),
    *family(
        Probe(
            "tl.atomic_poll", "r = tl.atomic_poll(x_ptr + i, x{}).to(tl.int32)",
            lambda x, y: x * 0 + 1, **INTEGERS,
        ),
        'sem="relaxed"',
        'scope="sys"',
        "timeout_ns=1000",
    ),
)  # fmt: skip

PROBES = (*LOADS, *BLOCKS, *DESCRIPTORS, *ATOMICS)
