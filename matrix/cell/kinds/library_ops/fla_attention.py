"""flash-linear-attention: attention in chunks of the sequence."""

from _library import kernel, tensor

# The last chunk of 64 is not full.
BATCH, LENGTH, HEADS, KEYS, VALUES = 1, 130, 2, 64, 64


def gated_delta_rule():
    import torch
    from fla.ops.gated_delta_rule import chunk_gated_delta_rule as op

    decay = (-torch.rand(BATCH, LENGTH, HEADS)).requires_grad_()
    beta = torch.rand(BATCH, LENGTH, HEADS).bfloat16().requires_grad_()
    return op(*_qkv(), decay, beta, **_layout(op))


def linear_attn():
    from fla.ops.linear_attn import chunk_linear_attn as op

    return op(*_qkv(), normalize=False, **_layout(op))


def _qkv():
    query, key = (tensor(BATCH, LENGTH, HEADS, KEYS) for _ in range(2))
    return query, key, tensor(BATCH, LENGTH, HEADS, VALUES)


def _layout(op):
    """Heads after the sequence, in every release: that was an option once, and not the default at first."""
    import inspect

    parameters = inspect.signature(inspect.unwrap(op)).parameters
    return {"head_first": False} if "head_first" in parameters else {}


KERNEL = kernel("fla_attention", "flash-linear-attention", (gated_delta_rule, linear_attn))
