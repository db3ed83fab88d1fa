"""Norms and other reductions over one dimension, forward and backward."""

from typing import Any, Dict

import torch
import torch.nn.functional as F

from .registry import numbers, program


@program(backward=True)
def layer_norm():
    def call(x, weight, bias):
        return F.layer_norm(x, (192,), weight, bias)

    return call, [
        numbers(12, 192, grad=True),
        numbers(192, grad=True),
        numbers(192, grad=True, seed=1),
    ]


@program(backward=True)
def rms_norm_residual():
    def call(x, residual, weight):
        hidden = x + residual
        scale = torch.rsqrt(hidden.float().pow(2).mean(-1, keepdim=True) + 1e-6)
        return (hidden.float() * scale).to(x.dtype) * weight, hidden

    half: Dict[str, Any] = {"dtype": "bfloat16", "grad": True}
    return call, [numbers(8, 256, **half), numbers(8, 256, seed=1, **half), numbers(256, **half)]


@program(backward=True)
def batch_norm():
    def call(x, weight, bias, mean, variance):
        return F.batch_norm(x, mean, variance, weight, bias, True)

    given = [numbers(4, 6, 8, 8, grad=True), numbers(6, grad=True), numbers(6, grad=True, seed=1)]
    return call, [*given, torch.zeros(6), torch.ones(6)]


@program()
def group_norm():
    def call(x, weight, bias):
        return F.silu(F.group_norm(x, 4, weight, bias))

    return call, [numbers(2, 16, 6, 6), numbers(16), numbers(16, seed=1)]


@program(backward=True)
def softmax():
    def call(x):
        return torch.softmax(x.float(), -1).to(x.dtype)

    return call, [numbers(6, 300, dtype="bfloat16", grad=True)]


@program()
def large_reductions():
    """To one number, over rows and over columns: each in several kernels, or with atomics, on a GPU."""

    def call(x):
        return x.sum(), x.norm(), x.amax(0), x.mean(1), torch.var(x, dim=1)

    return call, [numbers(70, 900)]


@program()
def argument_reductions():
    def call(x):
        return x.argmax(-1), x.argmin(0), x.max(-1).values, torch.any(x > 3, dim=0)

    return call, [numbers(24, 130)]
