"""Functions and methods that make a tensor on a device."""

import functools
from typing import Any, Callable

import torch

from .devices import mapped


def on_cpu(own: Callable, gpu: Any) -> Callable:
    """The factory, with the GPU's tensors made on the CPU. Pinned memory needs a driver; there is none."""

    @functools.wraps(own)
    def factory(*args: Any, **kwargs: Any) -> Any:
        if "device" in kwargs:
            kwargs["device"] = mapped(kwargs["device"])
        kwargs.pop("pin_memory", None)
        return own(*args, **kwargs)

    return factory


def uninitialised_on_cpu(own: Callable, gpu: Any) -> Callable:
    """The same for a factory whose storage holds anything."""
    plain = on_cpu(own, gpu)
    if not gpu.zeroed:
        return plain

    @functools.wraps(own)
    def factory(*args: Any, **kwargs: Any) -> Any:
        made = plain(*args, **kwargs)
        # Not a FakeTensor or another subclass: those may override writes.
        if type(made) in (torch.Tensor, torch.nn.Parameter) and not made.is_meta:
            try:
                with torch.no_grad():
                    made.zero_()
            except (RuntimeError, NotImplementedError):
                # A type that cannot be filled (torch.bits8): it stays as it is.
                pass
        return made

    return factory


def load(own: Callable, gpu: Any) -> Callable:
    """Wrap `torch.load` for any device that a file names, or that the caller maps it to."""

    @functools.wraps(own)
    def load_on_cpu(file: Any, map_location: Any = None, *args: Any, **kwargs: Any) -> Any:
        return own(file, "cpu", *args, **kwargs)

    return load_on_cpu


def device_context(own: Callable, gpu: Any) -> Callable:
    """``with torch.device("cuda"):`` and `torch.set_default_device` hand their device to torch's own factories."""

    @functools.wraps(own)
    def init(self: Any, device: Any) -> None:
        own(self, device)
        self.device = mapped(self.device)

    return init
