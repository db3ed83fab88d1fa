"""The memory that a launch may touch: that of its arguments, and memory that their contents point to."""

import gc
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from .arguments import Argument

# A table of pointers is no longer than this; longer tensors of integers are data.
_LONGEST_TABLE = 1 << 16
_ADDRESSES = ("torch.int64", "torch.uint64")
# No tensor lies below on a machine of 64 bits: less is a size, a stride, a seed.
_LEAST = 1 << 32


class Window(NamedTuple):
    """Bytes that may be touched: first address, length, and a name for messages."""

    address: int
    size: int
    name: str


def _live() -> List[Window]:
    """The storages of all tensors of this process, in order of their address."""
    import torch

    # A class is looked at once: there are a few thousand, for half a million objects.
    tensors: Dict[type, bool] = {}
    sizes: Dict[int, int] = {}
    for thing in gc.get_objects():
        kind = type(thing)
        if kind not in tensors:
            tensors[kind] = issubclass(kind, torch.Tensor)
        if tensors[kind]:
            window = storage_of(thing, "")
            if window is not None:
                sizes[window.address] = window.size
    return [Window(address, sizes[address], "a tensor in a table") for address in sorted(sizes)]


def windows(arguments: Sequence[Argument]) -> List[Window]:
    """Return the memory that a launch with these arguments may touch.

    A pointer opens the whole storage of its tensor. A tensor of 64-bit integers, and an integer, open those of the
    tensors anywhere in this process that they point into.
    """
    by_extent: Dict[Tuple[int, int], Window] = {}
    for argument in arguments:
        window = storage_of(argument.owner, argument.name)
        if window is not None:
            by_extent.setdefault(window[:2], window)
    for window in pointed_to(arguments):
        by_extent.setdefault(window[:2], window)
    return list(by_extent.values())


def pointed_to(arguments: Sequence[Argument]) -> List[Window]:
    """The storages that integers among the arguments, and in their tables, point into."""
    addresses: List[np.ndarray] = []
    for argument in arguments:
        if storage_of(argument.owner, argument.name) is not None:
            addresses.append(_table(argument.owner))
        elif argument.owner is None and isinstance(argument.value, int) and argument.value > _LEAST:
            addresses.append(np.array([argument.value], np.uint64))
    tables = [table for table in addresses if table.size]
    return list(_pointed_to(np.concatenate(tables), _live())) if tables else []


def _pointed_to(addresses: np.ndarray, live: List[Window]) -> Iterator[Window]:
    if not live:
        return
    starts = np.array([window.address for window in live], np.uint64)
    for place in np.unique(np.searchsorted(starts, addresses, "right")):
        if place == 0:
            continue
        window = live[int(place) - 1]
        inside = (addresses >= window.address) & (addresses < window.address + window.size)
        if inside.any():
            yield window


def _table(owner: Any) -> np.ndarray:
    """The numbers in it that may be addresses."""
    import torch

    tensor = getattr(owner, "base", owner) if not isinstance(owner, torch.Tensor) else owner
    none = np.zeros(0, np.uint64)
    # Before PyTorch 2.3 there is no torch.uint64 to compare with.
    if not isinstance(tensor, torch.Tensor) or str(tensor.dtype) not in _ADDRESSES:
        return none
    if not 0 < tensor.numel() <= _LONGEST_TABLE:
        return none
    values = tensor.detach().reshape(-1).numpy().view(np.uint64)
    return values[values > _LEAST]


def storage_of(owner: Any, name: str = "") -> Optional[Window]:
    """Return the memory of a tensor or its wrapper (`triton.reinterpret`, a scratch buffer); None if it has none."""
    tensor = tensor_of(owner)
    if tensor is None:
        return None
    memory = tensor.untyped_storage()
    return Window(memory.data_ptr(), memory.nbytes(), name)


def tensor_of(owner: Any) -> Any:
    """The tensor that has the memory; None if there is none."""
    for tensor in (owner, getattr(owner, "base", None)):
        storage = getattr(tensor, "untyped_storage", None)
        if storage is None:
            continue
        try:
            memory = storage()
            address, size = memory.data_ptr(), memory.nbytes()
        except (RuntimeError, NotImplementedError):
            # A sparse or fake tensor has none.
            continue
        if address and size:
            return tensor
    return None
