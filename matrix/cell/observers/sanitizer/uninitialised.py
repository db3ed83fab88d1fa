"""Detector: a kernel reads an element of an output that was never written.

An output is a tensor that was allocated without contents, by torch.empty and the like. Its shadow lives as long as the
case: the next launch may read the stores of an earlier one. The caller reports writes of the host in between.
"""

from typing import Any, Dict, List, Sequence

import numpy as np

from crosswarp.matrix.cell.machines import ptx

from .findings import Findings
from .tensors import Tensor, named

KIND = "uninitialised read"


class Unwritten:
    """Which elements of one allocation hold nothing yet.

    Attributes:
        empty: (elements,).
    """

    def __init__(self, address: int, nbytes: int, itemsize: int = 1):
        self.address, self.nbytes, self.itemsize = address, nbytes, itemsize
        self.empty = np.ones(nbytes // itemsize, bool)
        self.end = address + len(self.empty) * itemsize

    def elements(self, address: np.ndarray, nbytes: int) -> np.ndarray:
        """(n, k) elements that the accesses touch."""
        start = (address - np.uint64(self.address)).astype(np.int64) // self.itemsize
        count = max(1, nbytes // self.itemsize)
        return start[:, None] + np.arange(count)


class Uninitialised(ptx.Watch):
    """
    Args:
        memory: of the allocations that are not, or only partly, written.
    """

    def __init__(self, findings: Findings, tensors: Sequence[Tensor], memory: Sequence[Unwritten]):
        self.findings, self._tensors = findings, tensors
        # Those that are full are never asked again.
        self._memory: List[Unwritten] = [tensor for tensor in memory if tensor.empty.any()]

    def access(self, machine, at, space, what, address, condition, nbytes, lane=None) -> None:
        if space != "global" or not self._memory or what == "tensor map":
            return
        shape = (machine.ctas, machine.threads)
        full = lane is None
        if condition is not None:
            address, condition = np.broadcast_arrays(address, condition)
            chosen = address[condition]
        else:
            chosen = address.reshape(-1)
        for memory in self._memory:
            inside = (chosen >= np.uint64(memory.address)) & (
                chosen + np.uint64(nbytes) <= np.uint64(memory.end)
            )
            if not inside.any():
                continue
            elements = memory.elements(chosen[inside], nbytes)
            if what not in ("store", "bulk store"):
                missing = memory.empty[elements].any(1)
                if missing.any():
                    first = int(chosen[inside][missing][0])
                    where = lane
                    if full:
                        at_first = np.broadcast_to(address == first, shape)
                        if condition is not None:
                            at_first = at_first & np.broadcast_to(condition, shape)
                        where = divmod(int(at_first.argmax()), shape[1])
                    self.findings.add(
                        KIND, f"{what} of {nbytes} bytes that were never written", at, machine, where,
                        int(missing.sum()), address=first, tensor=named(self._tensors, first),
                    )  # fmt: skip
            if what in ("store", "bulk store", "atomic"):
                memory.empty[elements] = False


class Allocations:
    """The tensors that a case has allocated without contents, and their parts written since."""

    def __init__(self) -> None:
        self._by_address: Dict[int, Any] = {}

    def add(self, tensor: Any) -> None:
        """Watch `tensor`, which was just allocated without contents.

        It is kept alive, so that its memory is not reused while it is watched.
        """
        storage = tensor.untyped_storage()
        if not storage.nbytes() or not tensor.is_contiguous() or tensor.is_complex():
            return
        memory = Unwritten(storage.data_ptr(), storage.nbytes(), tensor.element_size())
        self._by_address[memory.address] = [memory, tensor, tensor._version, _bits(tensor).copy()]

    def looked(self) -> List[Unwritten]:
        """Update the tensors: elements that the host has written since are no longer empty."""
        unwritten = []
        for entry in self._by_address.values():
            memory, tensor, version, before = entry
            if tensor._version != version:
                entry[2] = tensor._version
                if tensor.is_floating_point():
                    # An element that is still the very NaN that the allocation was filled with.
                    memory.empty &= _bits(tensor) == before
                else:
                    # The largest integer may be meant.
                    memory.empty[:] = False
            unwritten.append(memory)
        return unwritten


def _bits(tensor: Any) -> np.ndarray:
    import torch

    raw = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[tensor.element_size()]
    return tensor.detach().reshape(-1).view(raw).numpy()
