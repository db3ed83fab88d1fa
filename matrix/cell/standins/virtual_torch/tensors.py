"""Methods and properties of `torch.Tensor` that name a device."""

import functools
from typing import Any, Callable

import torch

from .devices import CPU, GPU, mapped, named_gpu

_OWN_DEVICE = torch._C.TensorBase.device


def real_device(tensor: torch.Tensor) -> torch.device:
    """Where the storage is, behind the claim."""
    return _OWN_DEVICE.__get__(tensor)


def claims_gpu(tensor: torch.Tensor) -> bool:
    """Whether it is one of ours. Under a mode of torch's the question comes back here: its answer is the claim."""
    return real_device(tensor).type in ("cpu", "cuda")


def device(own: Any, gpu: Any) -> property:
    def claimed(tensor: torch.Tensor) -> torch.device:
        return GPU if claims_gpu(tensor) else real_device(tensor)

    return property(claimed)


def is_cuda(own: Any, gpu: Any) -> property:
    return property(claims_gpu)


def is_cpu(own: Any, gpu: Any) -> property:
    return property(lambda tensor: False)


def to(own: Callable, gpu: Any) -> Callable:
    """`Tensor.to`. From the GPU to the CPU is always a copy: changes to one are not seen in the other."""

    @functools.wraps(own)
    def moved(self: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
        wanted = kwargs.get("device", args[0] if args else None)
        numbered = args and isinstance(args[0], int) and not isinstance(args[0], bool)
        args = tuple(CPU if named_gpu(value) else value for value in args)
        if numbered:
            args = (CPU, *args[1:])
        if "device" in kwargs:
            kwargs["device"] = mapped(kwargs["device"])
        result = own(self, *args, **kwargs)
        return _copied(self, result) if _names_cpu(wanted) else result

    return moved


def cpu(own: Callable, gpu: Any) -> Callable:
    @functools.wraps(own)
    def copied(self: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
        return _copied(self, own(self, *args, **kwargs))

    return copied


def cuda(own: Callable, gpu: Any) -> Callable:
    def moved(
        self: torch.Tensor,
        device: Any = None,
        non_blocking: bool = False,
        memory_format: Any = torch.preserve_format,
    ) -> torch.Tensor:
        return self

    return moved


def type_(own: Callable, gpu: Any) -> Callable:
    """`Tensor.type`: takes ``torch.cuda.FloatTensor`` by name as well, and answers with such a name."""

    @functools.wraps(own)
    def cast(self: torch.Tensor, dtype: Any = None, *args: Any, **kwargs: Any) -> Any:
        if dtype is None:
            return own(self).replace("torch.", "torch.cuda.")
        if isinstance(dtype, str):
            dtype = dtype.replace("torch.cuda.", "torch.")
        return own(self, dtype, *args, **kwargs)

    return cast


def itself(own: Any, gpu: Any) -> Callable:
    """`pin_memory`: does nothing."""
    return lambda self, *args, **kwargs: self


def _names_cpu(wanted: Any) -> bool:
    if isinstance(wanted, str):
        return wanted == "cpu"
    return isinstance(wanted, torch.device) and wanted.type == "cpu"


def _copied(before: torch.Tensor, after: torch.Tensor) -> torch.Tensor:
    return after.clone() if after is before and claims_gpu(before) else after
