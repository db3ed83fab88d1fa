"""Probes of loops, hints, assertions, programs and random numbers."""

from typing import Any, Dict

import torch

from .probe import Probe, family


def _hinted(name):
    return Probe(name, f"r = tl.load({name}(x_ptr + i, 1))", lambda x, y: x)


LOOPS = (
    *family(
        Probe(
            "tl.range",
            "r = tl.zeros([64], tl.float32)\nfor k in tl.range(0, n{}):\n    r += tl.load(x_ptr + i + 0 * k)",
            lambda x, y: 64 * x,
        ),
        "num_stages=2",
        "loop_unroll_factor=2",
        "disallow_acc_multi_buffer=True",
        "flatten=True",
        "warp_specialize=True",
        "disable_licm=True",
    ),
    Probe(
        "tl.static_range",
        "r = tl.zeros([64], tl.float32)\nfor k in tl.static_range(8):\n    r += x",
        lambda x, y: 8 * x,
    ),
    *family(
        Probe(
            "tl.condition",
            "r = x\nk = n\nwhile tl.condition(k > 60{}):\n    r += x\n    k -= 1",
            lambda x, y: 5 * x,
        ),
        "disable_licm=True",
    ),
)

HINTS = (
    *(_hinted(f"tl.{name}") for name in ("multiple_of", "max_contiguous", "max_constancy")),
    Probe("tl.assume", "tl.assume(n > 0)\nr = x", lambda x, y: x),
    Probe("tl.expect_zero", "r = tl.expect_zero(x, i < 0)", lambda x, y: x),
    Probe("tl.debug_barrier", "tl.debug_barrier()\nr = x", lambda x, y: x),
    Probe("tl.static_assert", "tl.static_assert(2 > 1)\nr = x", lambda x, y: x),
    Probe("tl.static_print", 'tl.static_print("probe")\nr = x', lambda x, y: x),
    *family(
        Probe("tl.device_print", 'tl.device_print("probe", i{})\nr = x', lambda x, y: x),
        "hex=True",
    ),
    *family(
        Probe("tl.device_assert", 'tl.device_assert(i >= 0, "probe"{})\nr = x', lambda x, y: x),
        "mask=i < 40",
    ),
    Probe("tl.program_id", "r = x + tl.program_id(0)", lambda x, y: x),
    Probe("tl.num_programs", "r = x + tl.num_programs(0)", lambda x, y: x + 1),
    Probe(
        "tl.inline_asm_elementwise",
        'r = tl.inline_asm_elementwise("add.f32 $0, $1, $2;", "=f,f,f", [x, y], dtype=tl.float32,'
        " is_pure=True, pack=1)",
        lambda x, y: x + y,
        only="cuda",
    ),
    Probe("tl.constexpr_function", "r = x * twice(2)", lambda x, y: x * 4,
          header="@tl.constexpr_function\ndef twice(k):\n    return 2 * k"),
)  # fmt: skip

# The argument `n` of kernels.
SEED = 64
# Philox 4x32 as published (Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3", 2011).
_KEYS = (0x9E3779B9, 0xBB67AE85)
_ROUNDS = (0xD2511F53, 0xCD9E8D57)
_WORD = 0xFFFFFFFF


def philox(counter, key, rounds=10):
    """Four words from four words and two, all of them lists of Python integers."""
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(rounds):
        high0, low0 = divmod(_ROUNDS[0] * c0, 1 << 32)
        high1, low1 = divmod(_ROUNDS[1] * c2, 1 << 32)
        c0, c1, c2, c3 = high1 ^ c1 ^ k0, low1, high0 ^ c3 ^ k1, low0
        k0, k1 = (k0 + _KEYS[0]) & _WORD, (k1 + _KEYS[1]) & _WORD
    return c0, c1, c2, c3


def words(seed, rounds=10, zeros=3):
    """Four tensors: the words for counters 0 to 63."""
    drawn = [philox((k, 0, 0, 0), (seed, 0), rounds) for k in range(64)]
    return torch.tensor(drawn).T


def uniform(drawn):
    """Convert a word to a number below 1 as Triton does: a negative one, read as signed, is mirrored."""
    signed = torch.where(drawn > 0x7FFFFFFF, drawn - (1 << 32), drawn)
    return torch.where(signed < 0, -signed - 1, signed).double() * 4.6566127342e-10


def normal(first, second):
    """Box and Muller's pair."""
    radius = torch.sqrt(-2 * torch.log(first.clamp(min=1e-7)))
    return radius * torch.cos(6.283185307179586 * second), radius * torch.sin(
        6.283185307179586 * second
    )


def _all(tensors):
    """One number of four, in which each counts differently."""
    return sum((k + 1) * one for k, one in enumerate(tensors))


_EXACT: Dict[str, Any] = {"tolerance": 0.0}
_CLOSE: Dict[str, Any] = {"tolerance": 1e-4}
_WORDS = (
    "r = (p.to(tl.int64) & 0xFFFFFFFF) + 2 * (q.to(tl.int64) & 0xFFFFFFFF)"
    " + 3 * (s.to(tl.int64) & 0xFFFFFFFF) + 4 * (t.to(tl.int64) & 0xFFFFFFFF)"
)
_FLOATS = "r = p + 2 * q + 3 * s + 4 * t"


def _randn4():
    u = [uniform(one) for one in words(SEED)]
    return [*normal(u[0], u[1]), *normal(u[2], u[3])]


RANDOM = (
    *family(
        Probe(
            "tl.randint", "r = tl.randint(n, i{}).to(tl.int64) & 0xFFFFFFFF",
            lambda x, y: words(SEED)[0], **_EXACT,
        )
    ),
    Probe(
        "tl.randint", "r = tl.randint(n, i, n_rounds=7).to(tl.int64) & 0xFFFFFFFF",
        lambda x, y: words(SEED, 7)[0], option="n_rounds=7", **_EXACT,
    ),
    Probe(
        "tl.randint4x", f"p, q, s, t = tl.randint4x(n, i)\n{_WORDS}", lambda x, y: _all(words(SEED)),
        **_EXACT,
    ),
    Probe("tl.rand", "r = tl.rand(n, i)", lambda x, y: uniform(words(SEED)[0]).float()),
    Probe(
        "tl.rand", "r = tl.rand(n, i, n_rounds=7)", lambda x, y: uniform(words(SEED, 7)[0]).float(),
        option="n_rounds=7",
    ),
    Probe(
        "tl.rand4x", f"p, q, s, t = tl.rand4x(n, i)\n{_FLOATS}",
        lambda x, y: _all(uniform(one) for one in words(SEED)).float(),
    ),
    Probe(
        "tl.randn", "r = tl.randn(n, i)", lambda x, y: _randn4()[0].float(), **_CLOSE
    ),
    Probe(
        "tl.randn", "r = tl.randn(n, i, n_rounds=7)",
        lambda x, y: normal(*(uniform(one) for one in words(SEED, 7)[:2]))[0].float(),
        option="n_rounds=7", **_CLOSE,
    ),
    Probe(
        "tl.randn4x", f"p, q, s, t = tl.randn4x(n, i)\n{_FLOATS}",
        lambda x, y: _all(_randn4()).float(), **_CLOSE,
    ),
    Probe(
        "tl.philox", f"z = i * 0\np, q, s, t = tl.philox(n, i, z, z, z)\n{_WORDS}",
        lambda x, y: _all(words(SEED)), **_EXACT,
    ),
    Probe(
        "tl.philox_impl",
        "c = i.to(tl.uint32)\nz = c * 0\n"
        f"p, q, s, t = tl.philox_impl(c, z, z, z, z + n.to(tl.uint32), z)\n{_WORDS}",
        lambda x, y: _all(words(SEED)), **_EXACT,
    ),
    Probe(
        "tl.uint_to_uniform_float", "r = tl.uint_to_uniform_float(tl.randint(n, i))",
        lambda x, y: uniform(words(SEED)[0]).float(),
    ),
    Probe(
        "tl.pair_uniform_to_normal", "p, q = tl.pair_uniform_to_normal(x, y)\nr = p + 2 * q",
        lambda x, y: _all(normal(x, y)), low=0.1, high=0.9, **_CLOSE,
    ),
)  # fmt: skip

PROBES = (*LOOPS, *HINTS, *RANDOM)
