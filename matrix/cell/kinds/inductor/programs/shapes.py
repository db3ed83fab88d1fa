"""Shapes: dynamic sizes, concatenations, padding, transposes."""

import torch
import torch.nn.functional as F

from .registry import numbers, program


@program(backward=True, dynamic=True)
def dynamic_pointwise():
    def call(x, y):
        return (torch.where(x > 0, x.exp(), y.sin()) / (1 + y.abs())).sum(-1)

    return call, [numbers(17, 33, grad=True), numbers(17, 33, grad=True, seed=1)]


@program(dynamic=True)
def dynamic_softmax():
    def call(x, mask):
        return torch.softmax(x.masked_fill(mask > 0, -1e9), -1)

    return call, [numbers(7, 45), numbers(7, 45, seed=1)]


@program(backward=True)
def transpose_cat():
    def call(x, y):
        return torch.cat([x.transpose(1, 2).contiguous() * 2, y], 1).sum(2)

    return call, [numbers(3, 24, 32, grad=True), numbers(3, 16, 24, grad=True)]


@program()
def pad_and_roll():
    def call(x):
        padded = F.pad(x, (3, 5, 2, 0), value=1.0)
        return torch.roll(padded, (1, -2), (0, 1)), F.pad(x, (1, 1, 1, 1), mode="reflect")

    return call, [numbers(1, 20, 30)]


@program()
def channels_last():
    """Two-dimensional tiles: read in one order and written in another."""

    def call(x, y):
        return (x.permute(0, 2, 3, 1) + y).contiguous(), (x * 2).to(
            memory_format=torch.channels_last
        )

    return call, [numbers(2, 17, 12, 12), numbers(2, 12, 12, 17)]


@program()
def complex_views():
    """Rotations as products of complex numbers, on their real views."""

    def call(x, angle):
        real, imaginary = x[..., 0], x[..., 1]
        c, s = angle.cos(), angle.sin()
        return torch.stack((real * c - imaginary * s, real * s + imaginary * c), -1).flatten(-2)

    return call, [numbers(4, 16, 2), numbers(4, 16)]


@program()
def special_functions():
    def call(x):
        y = x.abs() + 0.1
        return torch.erf(x) + torch.lgamma(y) + torch.atan2(x, y) + torch.log1p(y) + torch.expm1(
            -y
        ), torch.fmod(x, 0.3)

    return call, [numbers(300)]
