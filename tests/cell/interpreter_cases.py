"""Small kernels that Triton's interpreter gets wrong, each with what is right. Run as a program by test_interpreter.py.

    TRITON_INTERPRET=1 python interpreter_cases.py

prints one JSON object, in its last line. In "cases": case -> [verdict bare, shimmed, and uninstalled again]; a verdict
is "ok", or what was seen.
"""

import json
import math
import sys

import interpreter_small_float_cases  # noqa: F401
import numpy as np
import torch
import triton
from interpreter_kernels import atomics, counted, looped, masked, methods, scaled, warps
from interpreter_support import CASES, VERSION, N, case, reduced, run, same, values
from triton.language.extra import libdevice

from crosswarp import compat
from crosswarp.compat import shims
from crosswarp.compat.versions import in_window


@case
def nan_maximum():
    x, y = values(0, 16), values(1, 16)
    x[::4], y[1::4], x[2], y[2] = math.nan, math.nan, math.nan, math.nan
    for op, function in (("maximum", torch.fmax), ("minimum", torch.fmin)):
        verdict = same(run(op, x, y), function(x, y))
        if verdict != "ok":
            return f"{op}: {verdict}"
    return same(run("propagate", x, y), torch.maximum(x, y))


@case
def nan_clamp():
    x = values(0, 16)
    x[3] = math.nan
    want = x.clamp(-1, 1)
    want[3] = -1
    return same(run("clamp", x), want)


@case
def nan_max():
    x = values(0)
    x[3] = math.nan
    return same(reduced("max", x), x[~x.isnan()].max().reshape(1))


@case
def atomic_add_float16():
    x, at = torch.arange(8).half(), torch.tensor([0, 1, 0, 2, 0, 1, 3, 3], dtype=torch.int32)
    out = torch.tensor([2048.0, 0, 0, 0]).half()
    atomics[(1,)](x, out, at, 7, N=8)
    return same(out, torch.tensor([2054.0, 6, 3, 6]))


@case
def float_argument():
    x, out = values(0).half(), torch.zeros(N)
    scaled[(1,)](x, out, 0.3, N=N)
    return same(out, x.float() * torch.tensor(0.3))


@case
def sum_of_bool():
    x = torch.arange(N) % 2 - 0.5
    count = (x > 0).sum()
    # Up to 3.2 the compiled kernel adds in one bit.
    want = count % 2 if in_window("<3.3", VERSION) else count
    return same(reduced("positive", x), want.reshape(1))


@case
def mask_of_a_scalar():
    x = values(0)
    out = torch.zeros(2 * N)
    masked[(2,)](x, out, 1, N=N)
    return same(out, torch.cat([x, torch.zeros(N)]))


@case
def while_condition():
    if not hasattr(triton.language, "condition"):  # before Triton 3.5
        return "ok"
    for turns in (0, 5):
        out = torch.full((1,), -1)
        counted[(1,)](out, turns)
        if out.item() != turns:
            return f"{out.item()} turns of {turns}"
    return "ok"


@case
def sum_of_int8():
    # Up to 3.2 the compiled kernel adds in 8 bits, and so does its interpreter.
    x = torch.full((N,), 101, dtype=torch.int8)
    x[0] = 3
    total = torch.tensor([(N - 1) * 101 + 3])
    return same(reduced("sum", x), total.to(torch.int8) if in_window("<3.3", VERSION) else total)


@case
def float_modulo():
    # Up to 3.2 compiled as x - y * floor(x / y), since then as C's fmod.
    x, y = values(0), values(1)
    want = x - y * torch.floor(x / y) if in_window("<3.3", VERSION) else torch.fmod(x, y)
    return same(run("mod", x, y), want, 1e-5)


@case
def libdevice_tanh():
    x = values(0)
    return same(run("tanh", x), x.double().tanh(), 1e-6)


@case
def libdevice_by_name():
    x = values(0)
    return same(run("by_name", x), x.double().tanh(), 1e-6)


@case
def libdevice_cuda():
    x = values(0)
    return same(run("cuda", x), x.double().tanh(), 1e-6)


@case
def libdevice_float64():
    x = values(0).double()
    return same(run("tanh", x), x.tanh(), 1e-14)


@case
def libdevice_functions():
    x, y = values(0), values(1)
    checks = {
        "pow": (x.abs(), y, torch.pow(x.abs().double(), y.double()), 1e-6),
        "erf": (x, None, torch.erf(x.double()), 1e-6),
        "isnan": (torch.where(x > 0, x, math.nan), None, (x <= 0).float(), 0),
        "lgamma": (x, None, torch.lgamma(x.double()), 1e-5),
        "round": (torch.arange(N) / 2 - 50, None, None, 0),
        "rint": (torch.arange(N) / 2 - 50, None, (torch.arange(N) / 2 - 50).round(), 0),
        "bessel": (x, None, torch.special.bessel_j0(x.double()), 1e-6),
        "ffs": (torch.arange(N, dtype=torch.int32), None, None, 0),
        "popc": (torch.arange(N, dtype=torch.int32) - 7, None, None, 0),
        "bits": (x, None, x.view(torch.int32), 0),
    }
    halves = checks["round"][0]
    integers = {
        "round": torch.sign(halves) * torch.floor(halves.abs() + 0.5),
        "ffs": torch.tensor([(int(i) & -int(i)).bit_length() for i in range(N)]),
        "popc": torch.tensor([bin((i - 7) & 0xFFFFFFFF).count("1") for i in range(N)]),
    }
    for op, (a, b, want, tolerance) in checks.items():
        want = integers[op] if want is None else want
        dtype = torch.int32 if op in ("ffs", "popc", "bits") else torch.float32
        got = run(op, a, b, dtype)
        verdict = same(got, want, tolerance * want.double().abs().clamp(min=1))
        if verdict != "ok":
            return f"{op}: {verdict}"
    return "ok"


@case
def libdevice_refuses_types():
    # fp16 has no tanh in libdevice: a compiled kernel says so, and so must the interpreter.
    try:
        run("tanh", values(0).half())
    except Exception as error:
        known = "input arg type does not match" in repr(error) or "KeyError((triton" in repr(error)
        return "ok" if known else repr(error)
    return "took float16"


@case
def tensor_methods():
    x, out = values(0), torch.zeros(N)
    methods[(1,)](x, out, N=N)
    want = x.double().abs().log() + x.double().exp().rsqrt() * x.double().floor()
    return same(out, want, 1e-5 * want.abs().clamp(min=1))


@case
def reserved_option():
    x, out = values(0), torch.zeros(N)
    warps[(1,)](x, out, N=N, num_warps=2)
    return same(out, x * 2)


@case
def runtime_bound():
    x, out = values(0), torch.zeros(1)
    looped[(1,)](x, out, 10)
    return same(out, x[:10].double().sum().reshape(1), 1e-5)


@case
def autotuned():
    out = torch.zeros(N)
    configs = [triton.Config({"N": N}, num_warps=w) for w in (2, 4)]
    tuned = triton.autotune(configs, key=["factor"])(scaled)
    tuned[(1,)](values(0), out, 2.0)
    return same(out, values(0) * 2)


@case
def configured():
    # What Triton 3.2 puts into every configuration; warmup= keeps it from asking for a driver.
    out = torch.zeros(N)
    tuned = triton.autotune([triton.Config({"N": N})], key=["factor"], warmup=1, rep=1)(scaled)
    tuned[(1,)](values(0), out, 2.0)
    return same(out, values(0) * 2)


def verdicts(names):
    found = {}
    for name in names:
        try:
            with np.errstate(all="ignore"):
                found[name] = CASES[name]()
        except Exception as error:
            found[name] = f"{type(error).__name__}: {error}"[:300]
    return found


def attributes():
    """What compat may replace in the interpreter, and what it replaces only once something was launched."""
    import triton.language.extra.cuda.libdevice as of_cuda
    import triton.runtime.interpreter as interpreter

    owners = (
        interpreter,
        interpreter.InterpreterBuilder,
        interpreter.GridExecutor,
        interpreter.ReduceOps,
        interpreter.ScanOps,
        libdevice,
        of_cuda,
        sys.modules["interpreter_kernels"],
    )
    return {
        f"{owner.__name__}.{name}": value
        for owner in owners
        for name, value in vars(owner).items()
        if callable(value) and not name.startswith("__") or name == "__call__"
    }


def replaced_by_others():
    """Attributes that change although no shim is inside its window."""
    every, before = shims.all_shims(), attributes()
    elsewhere = tuple(shim for shim in every if not in_window(shim.window, VERSION))
    installing = sys.modules["crosswarp.compat.install"]
    installing.listed = lambda: elsewhere
    compat.install()
    changed = [name for name, value in before.items() if attributes().get(name) is not value]
    compat.uninstall()
    installing.listed = lambda: every
    return changed


def main(chosen):
    unexpected = replaced_by_others()
    bare = verdicts(chosen)
    before = attributes()
    compat.install()
    shimmed = verdicts(chosen)
    acted = compat.acted()
    compat.uninstall()
    left = [name for name, value in before.items() if attributes().get(name) is not value]
    after = verdicts(chosen)
    np.__version__ = "2.4.0"
    ours = tuple(shim for shim in shims.all_shims() if shim.name == "interpreter_numpy")
    sys.modules["crosswarp.compat.install"].listed = lambda: ours
    compat.install()
    return {
        "cases": {name: [bare[name], shimmed[name], after[name]] for name in chosen},
        "acted": acted,
        "unexpected": unexpected,
        "left": left,
        "too new": verdicts(["runtime_bound"])["runtime_bound"],
    }


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1:] or list(CASES))))
