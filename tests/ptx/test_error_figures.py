"""How far approximate instructions and the sums of tensor cores are off: within the ISA's bounds, and told at the end.

The machine computes them as well as it can; a GPU is what the figures are for.
"""

import numpy as np
import pytest
from running import FIGURES, ON_DEVICE, Row, execute, outputs_of
from test_matrix import _DTYPES, _fragments, _kernel, _packed

COUNT = 16384 if ON_DEVICE else 2048
F32 = np.float32


def _spread(low, high, seed=1, sign=False):
    """Numbers whose exponents are spread evenly between those of `low` and `high`."""
    random = np.random.default_rng(seed)
    x = np.exp2(random.uniform(np.log2(low), np.log2(high), COUNT))
    return (x * (random.choice([-1, 1], COUNT) if sign else 1)).astype(F32)


def _even(low, high, seed=2):
    return np.random.default_rng(seed).uniform(low, high, COUNT).astype(F32)


def _unit(true):
    """The unit of the last place of float32 at each number."""
    return np.exp2(np.maximum(np.floor(np.log2(np.maximum(np.abs(true), 2.0**-126))), -126) - 23)


def told(name, got, true, bound, words):
    """Note the largest error, and hold it to `bound`: the error that is allowed at each number."""
    got, true = got.astype(np.float64), np.asarray(true, np.float64)
    off = np.abs(got - true)
    worst = float(np.max(off / _unit(true)))
    same = int(np.sum(got == true.astype(F32).astype(np.float64)))
    FIGURES.append((name, len(got), same, worst, words))
    # Half a unit for the rounding of the result itself.
    bad = np.flatnonzero(~(off <= bound + 0.5 * _unit(true)))
    assert not len(bad), (name, len(bad), got[bad[:3]], true[bad[:3]])


# Instruction, its meaning, the numbers, relative bound, absolute bound; the bounds are those of the PTX ISA 8.7.
APPROXIMATE = [
    ("ex2.approx.f32", np.exp2, _even(-126, 126), 2.0**-22, 0.0),
    ("ex2.approx.ftz.f32", np.exp2, _even(-1, 1), 2.0**-22, 0.0),
    # Between 0.5 and 2 the bound is absolute: the next row.
    ("lg2.approx.f32", np.log2, _spread(2.0, 2.0**120), 2.0**-22, 0.0),
    ("lg2.approx.ftz.f32 near 1", np.log2, _even(0.5, 2), 0.0, 2.0**-22),
    ("rcp.approx.ftz.f32", lambda x: 1 / x, _spread(2.0**-120, 2.0**120, sign=True), 2.0**-23, 0.0),
    ("sqrt.approx.ftz.f32", np.sqrt, _spread(2.0**-120, 2.0**120), 2.0**-23, 0.0),
    ("sqrt.approx.f32", np.sqrt, _spread(2.0**-120, 2.0**120, 3), 2.0**-23, 0.0),
    ("rsqrt.approx.ftz.f32", lambda x: 1 / np.sqrt(x), _spread(2.0**-120, 2.0**120), 2.0**-22.9, 0.0),
    ("rsqrt.approx.f32", lambda x: 1 / np.sqrt(x), _spread(2.0**-120, 2.0**120, 3), 2.0**-22.9, 0.0),
    ("sin.approx.f32", np.sin, _even(-np.pi, np.pi), 0.0, 2.0**-20.5),
    ("cos.approx.f32", np.cos, _even(-np.pi, np.pi), 0.0, 2.0**-20.5),
    ("tanh.approx.f32", np.tanh, _spread(2.0**-20, 8, sign=True), 2.0**-10.987, 0.0),
]  # fmt: skip


@pytest.mark.parametrize("case", APPROXIMATE, ids=lambda case: case[0])
def test_approximate_instructions(case):
    name, function, x, relative, absolute = case
    operation = name.split(" ")[0]
    raw = x.view(np.uint32)
    row = Row(operation, f"{operation} %x, %a;", [raw], [raw])
    (got,) = outputs_of(row)
    true = function(x.astype(np.float64))
    words = f"2^{np.log2(relative or absolute):.4g} {'relative' if relative else 'absolute'}"
    told(name, got.view(F32), true, relative * np.abs(true) + absolute, words)


@pytest.mark.parametrize("operation", ["div.full.f32", "div.approx.f32", "div.approx.ftz.f32"])
def test_divisions(operation):
    a, b = _spread(2.0**-60, 2.0**60, 5, sign=True), _spread(2.0**-60, 2.0**60, 6, sign=True)
    raw = [a.view(np.uint32), b.view(np.uint32)]
    (got,) = outputs_of(Row(operation, f"{operation} %x, %a, %b;", raw, [raw[0]]))
    true = a.astype(np.float64) / b
    told(operation, got.view(F32), true, 2 * _unit(true), "2 ulp")


@pytest.mark.parametrize(
    "form",
    [
        ("m16n8k16", "f16", "sm_80"), ("m16n8k16", "bf16", "sm_80"), ("m16n8k8", "tf32", "sm_80"),
        ("m16n8k32", "e4m3", "sm_89"),
    ],
    ids=lambda form: ".".join(form[:2]),
)  # fmt: skip
def test_sums_of_tensor_cores(form):
    """Products of normal numbers onto a sum: the ISA states no error; held to a unit of the largest term, by terms."""
    shape, kind, target = form
    depth = int(shape.split("k")[1])
    random = np.random.default_rng(9)
    a, b = (
        random.standard_normal(size).astype(_DTYPES[kind]) for size in ((16, depth), (depth, 8))
    )
    if kind == "tf32":
        # Ten bits of the fraction: what is below is not read.
        a, b = ((x.view(np.uint32) & np.uint32(0xFFFFE000)).view(F32) for x in (a, b))
    c = random.standard_normal((16, 8)).astype(F32)
    places = _fragments(shape, 8 * a.dtype.itemsize)
    registers = [_packed(part, place) for part, place in zip((a, b, c), places)]
    got = np.zeros((32, 4), np.uint32)
    text = _kernel(
        shape, ("f32", kind, kind, "f32"), "", [part.shape[1] for part in registers], target
    )
    execute(text, (1, 1, 1), [np.ascontiguousarray(np.concatenate(registers, 1)), got])
    a, b = a.astype(np.float64), b.astype(np.float64)
    true = np.array([[(a @ b + c)[at] for at in lane] for lane in places[2]]).reshape(-1)
    largest = np.maximum(np.abs(a[:, :, None] * b[None]).max(1), np.abs(c))
    largest = np.array([[largest[at] for at in lane] for lane in places[2]]).reshape(-1)
    bound = (depth + 1) * _unit(largest) * (2.0**10 if kind == "e4m3" else 1)
    told(
        f"mma.{shape}.f32.{kind}",
        got.view(F32).reshape(-1),
        true,
        bound,
        "a unit of the largest term, by terms",
    )
