"""Detector: an access that leaves the tensor whose pointer it was made of.

A tensor's own bytes are those of its elements, not other bytes of its storage beside a view or between rows. So every
tensor has an endless redzone on both sides, and an access into a neighbour is detected as well.
"""

from typing import Any, Dict, List, Optional, Sequence, Tuple

import numpy as np

from crosswarp.matrix.cell.machines import ptx

from .findings import Findings
from .pointers import Pointers
from .tensors import Tensor, named

KIND = "out-of-bounds"
# Their addresses come from a tensor map, which holds its own bounds; and the map from the parameters themselves.
_BY_MAP = ("bulk load", "bulk store", "tensor map")


class Bounds(ptx.Watch):
    def __init__(self, findings: Findings, tensors: Sequence[Tensor], pointers: Pointers):
        self.findings = findings
        self._tensors, self._pointers = tensors, pointers
        self._of: Dict[int, List[Tensor]] = {}
        for tensor in tensors:
            if tensor.parameter is not None:
                self._of.setdefault(tensor.parameter, []).append(tensor)
        self._allowed: Dict[int, Optional[List[Tuple[int, int, Tensor]]]] = {}
        self._footprints: Dict[Tensor, Any] = {}

    def allowed(self, at: int) -> Optional[List[Tuple[int, int, Tensor]]]:
        """First byte, end and tensor of each that the access may mean; None where that is not known."""
        if at not in self._allowed:
            extents: List[Tuple[int, int, Tensor]] = []
            for parameter in self._pointers.of(at):
                for tensor in self._of.get(parameter, ()):
                    extents.append((*tensor.extents(), tensor))
            self._allowed[at] = extents or None
        return self._allowed[at]

    def access(self, machine, at, space, what, address, condition, nbytes, lane=None) -> None:
        if space != "global" or what in _BY_MAP:
            return
        allowed = self.allowed(at)
        if allowed is None:
            # The emulator still stops an access outside all tensors.
            return
        if condition is not None:
            address, condition = np.broadcast_arrays(address, condition)
            if not condition.any():
                return
        low, high, tensor = allowed[0]
        first, last = int(address.min()), int(address.max())
        if len(allowed) == 1 and low <= first and last + nbytes <= high:
            self._inside(machine, at, what, address, condition, nbytes, tensor)
            return
        bad = np.ones(address.shape, bool)
        for low, high, _ in allowed:
            bad &= (address < np.uint64(low)) | (address + np.uint64(nbytes) > np.uint64(high))
        if condition is not None:
            bad &= condition
        if bad.any():
            self._report(
                machine,
                at,
                what,
                address,
                bad,
                nbytes,
                [beside for _, _, beside in allowed],
                "leaves",
            )

    def _inside(self, machine, at, what, address, condition, nbytes, tensor) -> None:
        """Within the extents: does it fall between the rows of a view?"""
        if tensor not in self._footprints:
            self._footprints[tensor] = tensor.footprint()
        own = self._footprints[tensor]
        if own is None:
            return
        start = (address - np.uint64(tensor.extents()[0])).astype(np.int64) // tensor.itemsize
        bad = np.zeros(address.shape, bool)
        for more in range(max(1, nbytes // tensor.itemsize)):
            bad |= ~own[start + more]
        if condition is not None:
            bad &= condition
        if bad.any():
            self._report(
                machine, at, what, address, bad, nbytes, [tensor], "falls between the rows of"
            )

    def _report(self, machine, at, what, address, bad, nbytes, tensors, verb) -> None:
        shape = (machine.ctas, machine.threads)
        lanes = np.broadcast_to(bad, shape)
        flat = int(lanes.argmax())
        first = int(np.broadcast_to(address, shape).flat[flat])
        names = " or ".join(sorted({tensor.name for tensor in tensors}))
        other = (
            "" if len(tensors) == 1 and not verb == "leaves" else self._neighbour(first, tensors)
        )
        self.findings.add(
            KIND, f"{what} of {nbytes} bytes {verb} {names}", at, machine, divmod(flat, shape[1]), int(lanes.sum()),
            address=first, tensor=named(tensors, first), other=other,
        )  # fmt: skip

    def _neighbour(self, address: int, own: Sequence[Tensor]) -> str:
        for tensor in self._tensors:
            low, high = tensor.extents()
            if tensor not in own and low <= address < high:
                return f"that is {tensor.place(address)}"
        return ""
