"""Which device is meant, and on which one it is made."""

from typing import Any

import torch

GPU = torch.device("cuda", 0)
CPU = torch.device("cpu")


def is_gpu(device: Any) -> bool:
    """Whether `device`, in any spelling that torch takes, is a GPU: ``"cuda"``, ``"cuda:0"``, ``0``, a torch.device."""
    if isinstance(device, torch.device):
        return device.type == "cuda"
    if isinstance(device, str):
        return device == "cuda" or device.startswith("cuda:")
    return isinstance(device, int) and not isinstance(device, bool)


def mapped(device: Any) -> Any:
    """`device`, or the CPU where it is a GPU."""
    return CPU if is_gpu(device) else device


def named_gpu(value: Any) -> bool:
    """Like `is_gpu` for arguments that may be a size or a flag: a bare number is none."""
    return not isinstance(value, int) and is_gpu(value)
