"""The tensors that a launch was given: which bytes are theirs, and which are only near."""

from dataclasses import dataclass
from typing import Any, List, Optional, Sequence, Tuple

import numpy as np

from crosswarp.matrix.cell.machines import ptx


@dataclass(frozen=True)
class Tensor:
    """One argument that points to memory.

    Attributes:
        name: of the kernel's parameter.
        address: of its first element.
        shape, strides: elements and bytes of each dimension.
        itemsize: bytes of an element.
        dtype: such as "float32"; empty where it is not known, which means bytes.
        parameter: its place among the parameters of the PTX; None where none points to it.
    """

    name: str
    address: int
    shape: Tuple[int, ...]
    strides: Tuple[int, ...]
    itemsize: int
    dtype: str = ""
    parameter: Optional[int] = None

    @classmethod
    def of_array(cls, array: np.ndarray, name: str, parameter: Optional[int] = None) -> "Tensor":
        """A numpy array, or a view of one."""
        return cls(
            name, array.ctypes.data, array.shape, array.strides, array.itemsize, array.dtype.name, parameter,
        )  # fmt: skip

    @classmethod
    def of_torch(cls, tensor: Any, name: str, parameter: Optional[int] = None) -> "Tensor":
        """A torch tensor on the CPU, or a view of one."""
        size = tensor.element_size()
        strides = tuple(step * size for step in tensor.stride())
        dtype = str(tensor.dtype).replace("torch.", "")
        return cls(name, tensor.data_ptr(), tuple(tensor.shape), strides, size, dtype, parameter)

    @classmethod
    def of_bytes(cls, address: int, nbytes: int, name: str) -> "Tensor":
        """Memory of which no more is known."""
        return cls(name, address, (nbytes,), (1,), 1)

    def extents(self) -> Tuple[int, int]:
        """First byte, and the one behind the last; the same where there is none."""
        if 0 in self.shape:
            return self.address, self.address
        steps = [(n - 1) * step for n, step in zip(self.shape, self.strides)]
        low = self.address + sum(step for step in steps if step < 0)
        return low, self.address + sum(step for step in steps if step > 0) + self.itemsize

    def footprint(self) -> Optional[np.ndarray]:
        """Which elements between the extents are its own; None where all are."""
        low, high = self.extents()
        if high - low <= self.itemsize * int(np.prod(self.shape)) or (high - low) % self.itemsize:
            return None
        if any(step % self.itemsize for step in self.strides):
            return None
        place = np.full((1,), (self.address - low) // self.itemsize, np.int64)
        for n, step in zip(self.shape, self.strides):
            if step:
                more = np.arange(n, dtype=np.int64) * (step // self.itemsize)
                place = (place[:, None] + more[None]).reshape(-1)
        own = np.zeros((high - low) // self.itemsize, bool)
        own[place] = True
        return None if own.all() else own

    def place(self, address: int) -> str:
        """Where an address lies, seen from this tensor, in words."""
        low, high = self.extents()
        kind = f"{self.dtype}{list(self.shape)}" if self.dtype else f"{high - low} bytes"
        if high <= low:
            return f"{self.name} is empty"
        if address >= high:
            return f"{address - high} bytes behind the end of {self.name} ({kind})"
        if address < low:
            return f"{low - address} bytes before {self.name} ({kind})"
        return f"{address - low} bytes into {self.name} ({kind})"


def memory_of(tensors: Sequence[Tensor]) -> ptx.Memory:
    """The windows of a launch: each tensor from its first byte to its last, and nothing of its storage beyond."""
    memory = ptx.Memory()
    for tensor in tensors:
        low, high = tensor.extents()
        memory.add(low, high - low, tensor.name)
    return memory


class Ranges:
    """Windows that may overlap, joined, with one number for each unit of 2**shift bytes in them."""

    def __init__(self, tensors: Sequence[Tensor], shift: int):
        self.shift = np.uint64(shift)
        self.starts: List[int] = []
        self.ends: List[int] = []
        unit = 1 << shift
        for low, high in sorted(tensor.extents() for tensor in tensors):
            low -= low % unit
            if high <= low:
                continue
            if self.ends and low < self.ends[-1]:
                self.ends[-1] = max(self.ends[-1], high)
            else:
                self.starts.append(low)
                self.ends.append(high)
        sizes = [-(-(end - start) // unit) for start, end in zip(self.starts, self.ends)]
        self._base = np.r_[0, np.cumsum(sizes)].astype(np.int64)
        self._starts = np.array(self.starts, np.uint64)
        self._ends = np.array(self.ends, np.uint64)
        self.units = int(self._base[-1])

    def number(self, address: np.ndarray) -> np.ndarray:
        """The unit of each address; -1 where it lies in no window."""
        if not self.starts or not address.size:
            return np.full(address.shape, -1, np.int64)
        window = np.searchsorted(self._starts, address, "right") - 1
        safe = np.maximum(window, 0)
        units = ((address - self._starts[safe]) >> self.shift).astype(np.int64) + self._base[safe]
        outside = (window < 0) | (address >= self._ends[safe])
        return np.where(outside, -1, units) if outside.any() else units

    def address(self, unit: int) -> int:
        """The opposite of `number`."""
        window = int(np.searchsorted(self._base, unit, "right")) - 1
        return self.starts[window] + ((unit - int(self._base[window])) << int(self.shift))


def named(tensors: Sequence[Tensor], address: int) -> str:
    """The tensor that an address lies in, else the nearest, in words."""
    best = None
    for tensor in tensors:
        low, high = tensor.extents()
        distance = max(low - address, address - high + 1, 0)
        if high > low and (best is None or distance < best[0]):
            best = (distance, tensor)
    return "" if best is None else best[1].place(address)
