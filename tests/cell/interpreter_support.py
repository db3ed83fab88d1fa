"""What the cases of interpreter_cases.py share: their list, their inputs, and how a result is judged."""

import torch
import triton
from interpreter_kernels import binary, cast, reduce

VERSION = triton.__version__
BF16 = torch.bfloat16
N = 256
CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


def same(got, want, tolerance=0.0):
    """ "ok", or how `got` differs from `want`. NaN is equal to NaN."""
    got, want = got.double(), want.double()
    wrong = ~((got == want) | (got.isnan() & want.isnan()) | ((got - want).abs() <= tolerance))
    if not wrong.any():
        return "ok"
    at = wrong.flatten().nonzero()[0].item()
    return f"{int(wrong.sum())}/{wrong.numel()} wrong, first {got.flatten()[at]} for {want.flatten()[at]}"


def values(seed=0, n=N, scale=4.0):
    return torch.randn(n, generator=torch.Generator().manual_seed(seed)) * scale


def run(op, x, y=None, dtype=None):
    y = x if y is None else y
    out = torch.zeros(x.shape, dtype=dtype or x.dtype)
    binary[(1,)](x, y, out, OP=op, N=x.numel())
    return out


def converted(x, dtype, kernel=cast):
    out = torch.zeros(x.shape, dtype=dtype)
    kernel[(1,)](x, out, N=x.numel())
    return out


def reduced(op, x):
    out = torch.zeros(1)
    reduce[(1,)](x, out, OP=op, N=x.numel())
    return out
