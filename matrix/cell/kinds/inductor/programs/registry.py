"""The registry of programs, and the makers of their inputs."""

from dataclasses import dataclass, field
from typing import Any, Callable, Dict, List, Mapping, Sequence, Tuple

import torch

SEED = 20260


@dataclass(frozen=True)
class Program:
    """
    Attributes:
        make: returns the function and its example inputs, on the CPU and the same ones at each call.
        backward: compile the backward pass as well, of the sum of what the function returns.
        dynamic: compile for any size.
        config: names of ``torch._inductor.config`` that it is compiled with.
        random: it draws numbers, by another generator than eager: its outputs are not compared.
        torch: releases that have what it uses.
        not_on: globs of targets that have no such type.
    """

    name: str
    make: Callable[[], Tuple[Callable, Sequence[Any]]]
    backward: bool = False
    dynamic: bool = False
    config: Mapping[str, Any] = field(default_factory=dict)
    random: bool = False
    torch: str = ""
    not_on: Tuple[str, ...] = ()


PROGRAMS: Dict[str, Program] = {}
# The settings of `mode="max-autotune"`, without CUDA graphs. Only Triton's choices are looked at.
TEMPLATES: Mapping[str, Any] = {
    "max_autotune": True,
    "max_autotune_gemm_backends": "TRITON",
    "max_autotune_conv_backends": "TRITON",
}


def program(**settings: Any) -> Callable[[Callable], Callable]:
    """Register a maker under its own name; `settings` are fields of `Program`."""

    def register(make: Callable) -> Callable:
        PROGRAMS[make.__name__] = Program(make.__name__, make, **settings)
        return make

    return register


def numbers(
    *shape: int, dtype: str = "float32", seed: int = SEED, grad: bool = False
) -> torch.Tensor:
    """Normally distributed numbers of `dtype`, the same for the same shape and seed."""
    generator = torch.Generator().manual_seed(seed + sum(shape) + len(shape))
    return torch.randn(*shape, generator=generator).to(getattr(torch, dtype)).requires_grad_(grad)


def integers(below: int, *shape: int, dtype: str = "int64", seed: int = SEED) -> torch.Tensor:
    """Integers from 0 to `below`, exclusive."""
    generator = torch.Generator().manual_seed(seed + sum(shape))
    return torch.randint(0, below, shape, generator=generator).to(getattr(torch, dtype))


def each(shapes: Sequence[Sequence[int]], **options: Any) -> List[torch.Tensor]:
    """`numbers` of each shape: the parameters of a model."""
    return [
        numbers(*shape, **{"seed": SEED + place, **options}) for place, shape in enumerate(shapes)
    ]
