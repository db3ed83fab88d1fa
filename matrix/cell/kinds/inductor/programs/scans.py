"""Scans, sorts and selections along a dimension."""

import torch

from .registry import numbers, program


@program()
def cumulative_sum():
    def call(x):
        return x.cumsum(-1), x.exp().cumsum(0)

    return call, [numbers(6, 300)]


@program(torch=">=2.3")
def cumulative_product():
    def call(x):
        return x.cumprod(-1)

    return call, [1 + 0.01 * numbers(4, 200)]


@program(torch=">=2.4")
def log_cumulative_sum():
    """A scan of pairs: the largest so far, and the sum below it."""

    def call(x):
        return x.logcumsumexp(-1)

    return call, [numbers(4, 200)]


@program(torch=">=2.4")
def sort():
    def call(x):
        return torch.sort(x, dim=-1, stable=True)

    return call, [numbers(4, 64)]


@program(backward=True)
def top_k_gate():
    """The router of a mixture of experts: softmax, the best two, and their weights made to add up to one."""

    def call(x):
        weights, chosen = torch.softmax(x, -1).topk(2, -1)
        return weights / weights.sum(-1, keepdim=True), chosen

    return call, [numbers(16, 8, grad=True)]


@program()
def linear_recurrence():
    """A short recurrence, unrolled: h = a h + x."""

    def call(a, x):
        h = torch.zeros_like(x[:, 0])
        steps = []
        for step in range(8):
            h = torch.sigmoid(a[:, step]) * h + x[:, step]
            steps.append(h)
        return torch.stack(steps, 1)

    return call, [numbers(2, 8, 64), numbers(2, 8, 64, seed=1)]
