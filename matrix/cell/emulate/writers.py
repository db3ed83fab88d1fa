"""Note which line of a kernel stored each byte of memory, so that wrong numbers lead to a line."""

import bisect
import os
from typing import Any, Dict, List, Optional, Sequence, Tuple

import numpy as np

from crosswarp.matrix.cell.machines import ptx

# Bytes that share one note: smaller elements have no separate writers.
_UNIT = 4
_STORES = ("store", "atomic", "bulk store")


class Writers(ptx.Watch):
    """Notes which line stored each byte of global memory, as the PTX emulator reports it.

    It lives for one run of a case, over all its launches: several kernels may have stored to one tensor.
    """

    def __init__(self) -> None:
        self._lines: List[str] = [""]
        self._number: Dict[Tuple[str, Any], int] = {}
        self._kernel = ""
        self._starts: List[int] = []
        # By the first address of a window: one number for each unit.
        self._notes: Dict[int, np.ndarray] = {}

    def launching(self, kernel: str, windows: Sequence[Any]) -> None:
        """The next accesses are those of `kernel`, which may touch `windows`."""
        self._kernel = kernel
        for window in windows:
            units = -(-window.size // _UNIT) + 1
            if len(self._notes.get(window.address, ())) < units:
                self._notes[window.address] = np.zeros(units, np.uint16)
        self._starts = sorted(self._notes)

    def access(self, machine, at, space, what, address, condition, nbytes, lane=None) -> None:
        if space not in ("global", "generic") or not what.startswith(_STORES):
            return
        number = self._number_of(machine.program.kernel.instructions[at].loc)
        if condition is not None:
            address = np.broadcast_to(address, condition.shape)[condition]
        if not address.size:
            return
        start = self._window(int(address.min()))
        if start is None or start != self._window(int(address.max())):
            # Through a table of pointers: one by one.
            for place in np.unique(address):
                self._note(self._window(int(place)), place.reshape(1), nbytes, number)
            return
        self._note(start, address.reshape(-1), nbytes, number)

    def _note(self, start: Optional[int], address: np.ndarray, nbytes: int, number: int) -> None:
        if start is None:
            return
        notes = self._notes[start]
        unit = (address - np.uint64(start)) // np.uint64(_UNIT)
        for more in range(-(-nbytes // _UNIT)):
            place = unit + np.uint64(more)
            # An access outside is a fault, which the emulator raises next.
            notes[place[place < len(notes)]] = number

    def _window(self, address: int) -> Optional[int]:
        place = bisect.bisect_right(self._starts, address) - 1
        return self._starts[place] if place >= 0 else None

    def _number_of(self, loc: Any) -> int:
        key = (self._kernel, loc)
        if key not in self._number:
            line = f"{os.path.basename(loc[0])}:{loc[1]}" if loc else "a line that is not known"
            self._number[key] = len(self._lines)
            self._lines.append(f"{line} ({self._kernel})")
        return self._number[key]

    def of(self, address: int) -> Optional[str]:
        """The line that stored there last; empty if none did, None for memory of no launch."""
        start = self._window(address)
        if start is None:
            return None
        notes, unit = self._notes[start], (address - start) // _UNIT
        return self._lines[notes[unit]] if unit < len(notes) else None


def where_written(writers: Writers, outputs: Dict[str, Any], reference: Dict[str, Any]) -> str:
    """For a message: which line stored the worst element of each output that differs; empty where none is known."""
    lines = []
    for name in sorted(set(outputs) & set(reference)):
        out, expected = outputs[name], reference[name]
        if tuple(out.shape) != tuple(expected.shape) or not out.numel():
            continue
        place = _worst(out, expected)
        if place is None:
            continue
        address = out.data_ptr() + out.element_size() * sum(
            step * index for step, index in zip(out.stride(), place)
        )
        line = writers.of(address)
        if line:
            lines.append(f"{name}: element {place} was stored by {line}")
        elif line is not None:
            lines.append(f"{name}: no launch stored to element {place}")
    return "\n".join(lines)


def _worst(out: Any, expected: Any) -> Optional[List[int]]:
    """The index of the element that is furthest off, one that is NaN where the other is not before all; None where
    both are the same to the last bit of a float32."""
    import torch

    out, expected = out.detach().double().cpu(), expected.detach().double().cpu()
    off = (out - expected).abs()
    off = torch.where(
        out.isnan() & expected.isnan() | (out == expected), torch.zeros_like(off), off
    )
    off = torch.where(off.isnan(), torch.full_like(off, float("inf")), off)
    if float(off.max()) <= 1e-7 * float(expected.abs().nan_to_num(0.0, 0.0, 0.0).max()):
        return None
    return [int(index) for index in np.unravel_index(int(off.argmax()), tuple(off.shape))]
