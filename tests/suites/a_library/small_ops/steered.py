"""Operators whose way, or whose result's size, depends on numbers that a kernel computes."""

import torch

from .ops import scale

LIBRARY = torch.library.Library("small_steered", "DEF")
LIBRARY.define("kept(Tensor x) -> Tensor", tags=(torch.Tag.dynamic_output_shape,))


def positive(x):
    """As many elements as the sum that a kernel wrote says."""
    count = scale(x.sum().reshape(1), 1.0)
    return torch.empty(int(count[0]), device=x.device)


def listed(x):
    return torch.empty(len([one for one in scale(x, 1.0).tolist() if one > 0]), device=x.device)


def refuses(x):
    if not bool((scale(x, 1.0) > 0).all()):
        raise ValueError("small_ops wants positive numbers")


def divides(x):
    return 1 // int(scale(x, 1.0).sum().item())


def compiles_wrongly(x):
    from . import kernels

    scale(x, 1.0)[0].item()
    kernels.wrong_kernel[(1,)](x, 64, BLOCK=64)


def names_wrongly(x):
    scale(x, 1.0)[0].item()
    return x.there_is_no_such_attribute


def sizes_by_its_own(lengths, x):
    """What steers here is a tensor that no kernel was handed."""
    scale(x, 1.0)
    if int(lengths.sum()) != x.numel():
        raise ValueError("the lengths are not those of x")


def _kept(x):
    return positive(x)


LIBRARY.impl("kept", _kept, "CUDA")
kept = torch.ops.small_steered.kept
