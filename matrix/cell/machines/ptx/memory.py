"""Memory of the process: windows that a program may touch, at their real addresses."""

import bisect
import ctypes
from typing import Any, Dict, List, Optional, Tuple

import numpy as np

from .types import BY_BYTES, u8

# Views of the whole address space, by bytes of an element: only windows of `Memory` are ever indexed. They begin above
# zero, because numpy accepts no array at a null pointer.
_FIRST = 16
_EVERYTHING: Any = (ctypes.c_char * (1 << 48)).from_address(_FIRST)
_SPACE = np.frombuffer(_EVERYTHING, np.uint8)
_VIEWS = {size: _SPACE.view(dtype) for size, dtype in BY_BYTES.items()}
_FIRST_INDEX = {size: u8(_FIRST // size) for size in BY_BYTES}
_SHIFT = {1: u8(0), 2: u8(1), 4: u8(2), 8: u8(3), 16: u8(4)}


class Memory:
    """Windows of the process's memory, by address.

    Two windows may touch; an access must lie in one. Windows that overlap are one. An access outside is a `Fault`.
    """

    def __init__(self) -> None:
        self._windows: Dict[int, Tuple[int, str]] = {}
        self._kept: List[Any] = []
        self._starts: Optional[List[int]] = None
        self._ends: List[int] = []

    def add(self, address: int, nbytes: int, name: str = "", keep: Any = None) -> None:
        """Allow accesses to `nbytes` bytes at `address`; `keep` is held as long as the window is.

        A window at the same address is replaced if it is smaller.
        """
        if nbytes <= 0:
            return
        if address < 0 or address + nbytes > 1 << 48:
            msg = f"{nbytes} bytes at {address:#x} are no memory of a process; give the address of a host tensor"
            raise ValueError(msg)
        if keep is not None:
            self._kept.append(keep)
        if self._windows.get(address, (0, ""))[0] < nbytes:
            self._windows[address] = (nbytes, name)
            self._starts = None

    def add_array(self, array: np.ndarray, name: str = "") -> int:
        """Allow accesses to a contiguous numpy array; returns its address."""
        self.add(array.ctypes.data, array.nbytes, name, keep=array)
        return array.ctypes.data

    def windows(self) -> List[Tuple[int, int, str]]:
        """(address, bytes, name) of each window, in order."""
        return [(start, *self._windows[start]) for start in sorted(self._windows)]

    def _sort(self) -> List[int]:
        self._starts, self._ends = [], []
        for start in sorted(self._windows):
            end = start + self._windows[start][0]
            if self._ends and start < self._ends[-1]:
                # A view of memory in another window.
                self._ends[-1] = max(self._ends[-1], end)
            else:
                self._starts.append(start)
                self._ends.append(end)
        self._start_array = np.array(self._starts, u8)
        self._end_array = np.array(self._ends, u8)
        return self._starts

    def outside(self, address: np.ndarray, nbytes: int) -> Optional[np.ndarray]:
        """Which of the accesses leave the windows; None where none does."""
        starts = self._starts if self._starts is not None else self._sort()
        low, high = int(address.min()), int(address.max())
        place = bisect.bisect_right(starts, low) - 1
        if place >= 0 and high + nbytes <= self._ends[place]:
            return None
        if not starts:
            return np.ones(address.shape, bool)
        places = np.searchsorted(self._start_array, address, "right").astype(np.int64) - 1
        bad = (places < 0) | (address + u8(nbytes) > self._end_array[np.maximum(places, 0)])
        return bad if bad.any() else None

    def nearest(self, address: int) -> str:
        """The window that lies nearest to `address`, in words."""
        best = None
        for start, nbytes, name in self.windows():
            if address >= start + nbytes:
                distance, words = address - start - nbytes, "behind"
            elif address < start:
                distance, words = start - address, "before"
            else:
                distance, words = 0, "inside"
            if best is None or distance < best[0]:
                best = (distance, words, name, nbytes)
        if best is None:
            return "no memory is allowed"
        distance, words, name, nbytes = best
        what = f"{name or 'a window'} of {nbytes} bytes"
        if distance == 0:
            return f"at the end of {what}" if words == "behind" else f"inside {what}"
        return f"{distance} bytes {words} {what}"


def read(address: np.ndarray, count: int, dtype: Any) -> List[np.ndarray]:
    """`count` elements behind each other at each address; the caller has checked them."""
    size = np.dtype(dtype).itemsize
    view, index = _VIEWS[size], _index(address, size)
    return [view[index + place] if place else view[index] for place in range(count)]


def write(address: np.ndarray, values: Any, dtype: Any) -> None:
    """The opposite of `read`: of two lanes with one address the later wins."""
    size = np.dtype(dtype).itemsize
    view, index = _VIEWS[size], _index(address, size)
    for place, value in enumerate(values):
        view[index + place if place else index] = value


def elements(address: np.ndarray, size: int) -> Tuple[np.ndarray, np.ndarray]:
    """A view of all memory by elements of `size` bytes, and the index of each address in it."""
    return _VIEWS[size], _index(address, size)


def _index(address: np.ndarray, size: int) -> np.ndarray:
    shifted = address >> _SHIFT[size] if size > 1 else address
    return (shifted - _FIRST_INDEX[size]).view(np.int64)
