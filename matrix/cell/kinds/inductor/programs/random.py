"""Random numbers, which inductor draws inside its kernels."""

import torch
import torch.nn.functional as F

from .registry import numbers, program


@program(backward=True, random=True)
def dropout():
    def call(x):
        return F.dropout(F.silu(x), 0.1, True)

    return call, [numbers(16, 100, grad=True)]


@program(random=True)
def draws():
    def call(x):
        return (
            torch.rand_like(x),
            torch.randn_like(x) + x,
            torch.randint(0, 9, x.shape, device=x.device),
        )

    return call, [numbers(8, 100)]


@program(random=True)
def sampled_token():
    """The next token of a language model: temperature, softmax, and the exponential trick."""

    def call(logits):
        chances = torch.softmax(logits / 0.8, -1)
        return torch.argmax(chances / -torch.log(torch.rand_like(chances)), -1)

    return call, [numbers(4, 500)]
