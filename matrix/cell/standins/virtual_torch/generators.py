"""Random numbers: generators that claim the GPU, and the state of the GPU's own."""

import functools
from typing import Any, Callable

import torch

from .devices import CPU, GPU, is_gpu, mapped

_OwnGenerator: Any = torch._C.Generator


class _AnyGenerator(type(_OwnGenerator)):  # type: ignore[misc]
    def __instancecheck__(cls, thing: Any) -> bool:
        return isinstance(thing, _OwnGenerator)


class Generator(_OwnGenerator, metaclass=_AnyGenerator):
    """`torch.Generator(device="cuda")`: a CPU generator that says so only behind the claim."""

    def __new__(cls, device: Any = "cpu") -> "Generator":
        made = _OwnGenerator.__new__(cls, device=mapped(device) or "cpu")
        made._claimed = GPU if is_gpu(device) else CPU
        return made

    def __init__(self, device: Any = "cpu"):
        pass

    @property
    def device(self) -> torch.device:  # type: ignore[override]
        return getattr(self, "_claimed", CPU)


class PhiloxGenerator:
    """One of `torch.cuda.default_generators`. Its state is a seed and an offset: 16 bytes, which libraries unpack."""

    device = GPU

    def __init__(self) -> None:
        self._state = torch.zeros(2, dtype=torch.int64)

    def get_state(self) -> torch.Tensor:
        return self._state.clone().view(torch.uint8)

    def set_state(self, state: torch.Tensor) -> "PhiloxGenerator":
        self._state = state.clone().view(torch.int64)[:2]
        return self

    def manual_seed(self, seed: int) -> "PhiloxGenerator":
        self._state = torch.tensor([seed & (2**63 - 1), 0], dtype=torch.int64)
        return self

    def initial_seed(self) -> int:
        return int(self._state[0])

    seed = initial_seed

    def get_offset(self) -> int:
        return int(self._state[1])

    def set_offset(self, offset: int) -> None:
        self._state[1] = offset


def fork_rng(own: Callable, gpu: Any) -> Callable:
    """`torch.random.fork_rng`: the CPU's state is the GPU's as well."""

    @functools.wraps(own)
    def forked(devices: Any = None, enabled: bool = True, *args: Any, **kwargs: Any) -> Any:
        return own(devices=[], enabled=enabled)

    return forked
