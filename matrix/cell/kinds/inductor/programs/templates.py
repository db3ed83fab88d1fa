"""Matmuls by Triton's templates: every choice that max-autotune would try, with its fused epilogue."""

from typing import Any, Dict

import torch
import torch.nn.functional as F

from .registry import TEMPLATES, numbers, program

_HALF: Dict[str, Any] = {"dtype": "float16"}


@program(config=TEMPLATES)
def matmul_template():
    def call(x, weight, bias):
        return F.relu(x @ weight + bias)

    return call, [numbers(64, 128, **_HALF), numbers(128, 96, **_HALF), numbers(96, **_HALF)]


@program(config=TEMPLATES)
def batched_matmul_template():
    def call(x, y):
        return torch.bmm(x, y) * 0.5

    return call, [numbers(3, 32, 64, dtype="bfloat16"), numbers(3, 64, 48, dtype="bfloat16")]


@program(config=TEMPLATES)
def convolution_template():
    def call(x, weight, bias):
        return F.silu(F.conv2d(x, weight, bias, padding=1))

    return call, [
        numbers(2, 16, 8, 8, **_HALF),
        numbers(32, 16, 3, 3, **_HALF),
        numbers(32, **_HALF),
    ]


@program(backward=True)
def gelu_mlp():
    """Its matmuls are cuBLAS's: the activation between them, and its gradient, are Triton's."""

    def call(x, up, bias, down):
        return F.gelu(F.linear(x, up, bias), approximate="tanh") @ down

    return call, [
        numbers(16, 32, grad=True), numbers(64, 32, grad=True), numbers(64, grad=True),
        numbers(64, 32, grad=True, seed=1),
    ]  # fmt: skip


@program(backward=True)
def swiglu_mlp():
    def call(x, gate, up, down):
        return (F.silu(x @ gate) * (x @ up)) @ down

    weights = [
        numbers(32, 64, grad=True),
        numbers(32, 64, grad=True, seed=1),
        numbers(64, 32, grad=True),
    ]
    return call, [numbers(16, 32, grad=True), *weights]
