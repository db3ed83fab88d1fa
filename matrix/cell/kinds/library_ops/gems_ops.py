"""FlagGems: torch's own operators, and attention."""

import os

from _library import kernel, tensor

ROWS, WIDTH = 33, 200


def _named_vendor():
    """FlagGems asks the tools of a dozen vendors for the GPU, unless this variable names the vendor."""
    import torch

    os.environ["GEMS_VENDOR"] = "amd" if torch.version.hip else "nvidia"


def softmax():
    _named_vendor()
    from flag_gems.ops.softmax import softmax as op
    from flag_gems.ops.softmax import softmax_backward as backward

    x = tensor(ROWS, WIDTH, grad=False)
    return backward(x, op(x, -1), -1, x.dtype)


def rms_norm():
    _named_vendor()
    from flag_gems.ops.rms_norm import rms_norm as op

    return op(tensor(ROWS, WIDTH), (WIDTH,), tensor(WIDTH))


def mm():
    _named_vendor()
    from flag_gems.ops.mm import mm as op

    return op(tensor(ROWS, WIDTH, grad=False), tensor(WIDTH, 72, grad=False))


def cumsum():
    _named_vendor()
    from flag_gems.ops.cumsum import cumsum as op

    return op(tensor(ROWS, WIDTH, grad=False), 1)


def sort():
    _named_vendor()
    from flag_gems.ops.sort import sort as op

    return op(tensor(ROWS, WIDTH, grad=False))


def topk():
    _named_vendor()
    from flag_gems.ops.topk import topk as op

    return op(tensor(ROWS, WIDTH, grad=False), 5)


def attention():
    _named_vendor()
    from flag_gems.ops.attention import scaled_dot_product_attention as op

    return op(*(tensor(1, 2, 130, 64) for _ in range(3)), is_causal=True)


KERNEL = kernel("gems_ops", "flag-gems", (softmax, rms_norm, mm, cumsum, sort, topk, attention))
