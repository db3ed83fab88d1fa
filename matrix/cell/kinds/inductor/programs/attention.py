"""Attention, as plain matmuls and as flex attention's template."""

import math
from typing import Any, Dict

import torch

from .registry import numbers, program


@program(backward=True)
def attention_by_hand():
    """Scores, mask and softmax written out; the matmuls are left to cuBLAS."""

    def call(q, k, v):
        scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
        mask = torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device).tril()
        return torch.softmax(scores.masked_fill(~mask, -math.inf), -1) @ v

    shape = (2, 2, 32, 16)
    return call, [numbers(*shape, grad=True, seed=place) for place in range(3)]


@program(backward=True)
def rotary_embedding():
    def call(x, cosine, sine):
        first, second = x.chunk(2, -1)
        return x * cosine + torch.cat((-second, first), -1) * sine

    half: Dict[str, Any] = {"dtype": "bfloat16"}
    return call, [
        numbers(2, 16, 4, 32, grad=True, **half), numbers(16, 1, 32, **half), numbers(16, 1, 32, seed=1, **half),
    ]  # fmt: skip


@program(torch=">=2.7")
def flex_attention():
    """Scores with a causal mask and a bias of the position (ALiBi), without a block mask.

    Up to torch 2.6 its meta kernel copies on the device.
    """
    from torch.nn.attention.flex_attention import flex_attention as flex

    def call(q, k, v):
        return flex(q, k, v, score_mod=_biased)

    half: Dict[str, Any] = {"dtype": "bfloat16"}
    return call, [numbers(1, 2, 128, 64, seed=place, **half) for place in range(3)]


@program(backward=True, torch=">=2.10")
def flex_attention_gradients():
    """The same, with the gradients of all three: the template of the backward pass.

    On the way torch 2.8 asks a device that is not there for an accelerator.
    """
    from torch.nn.attention.flex_attention import flex_attention as flex

    def call(q, k, v):
        return flex(q, k, v, score_mod=_biased)

    return call, [numbers(1, 2, 128, 64, seed=place, grad=True) for place in range(3)]


def _biased(score, batch, head, query, key):
    return torch.where(query >= key, score - 0.1 * (query - key), -math.inf)
