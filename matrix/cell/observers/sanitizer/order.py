"""Detector: the results depend on the order in which programs run.

A launch is executed again with its programs in reversed order, and shuffled by a seed, from the same memory. Integers
have to agree bit for bit. So do floats, unless the kernel adds to them with atomics: these sums may differ by rounding
errors.

A kernel that uses an atomic's result may assign tickets or slots. Their assignment may differ, as long as the results
of the case do not. Such a launch is not compared. The caller runs the whole case in several orders and compares its
results, with `different`.
"""

import re
from typing import Any, Callable, Dict, List, Sequence, Tuple

import numpy as np

from crosswarp.matrix.cell.machines import ptx

from .findings import Finding, Findings
from .tensors import Tensor

KIND = "order dependence"
SEED = 20260
ORDERS = (("reversed", "reversed"), (SEED, f"shuffled by the seed {SEED}"))
_WORD = re.compile(r"%[\w$]+")
# Tolerance of a sum in another order, relative to the largest value of a tensor, by format.
TOLERANCES = {"float64": 1e-12, "float32": 1e-4, "float16": 1e-2, "bfloat16": 4e-2}
_BITS = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


class Kept:
    """The contents of all tensors of a launch, as they are now."""

    def __init__(self, tensors: Sequence[Tensor]):
        ranges = sorted({tensor.extents() for tensor in tensors})
        self._parts: List[Tuple[int, np.ndarray]] = []
        for low, high in ranges:
            if high > low:
                self._parts.append((low, _bytes(low, high - low).copy()))

    def restore(self) -> None:
        for address, content in self._parts:
            _bytes(address, len(content))[:] = content

    def of(self, tensor: Tensor) -> np.ndarray:
        low, high = tensor.extents()
        for address, content in self._parts:
            if (address, len(content)) == (low, high - low):
                return content
        return np.zeros(0, np.uint8)


def _bytes(address: int, nbytes: int) -> np.ndarray:
    import ctypes

    room: Any = (ctypes.c_char * nbytes).from_address(address)
    return np.frombuffer(room, np.uint8)


def hands_out(kernel: Any) -> bool:
    """Return whether a kernel uses the result of an atomic on global memory."""
    words: Dict[str, int] = {}
    for instruction in kernel.instructions:
        for name in {name for operand in instruction.operands for name in _WORD.findall(operand)}:
            words[name] = words.get(name, 0) + 1
        if instruction.guard:
            words[instruction.guard] = words.get(instruction.guard, 0) + 1
    return any(
        words.get(name, 0) > 1
        for instruction in kernel.instructions
        if instruction.name == "atom" and "shared" not in instruction.modifiers
        for name in _WORD.findall(instruction.operands[0])
    )


def adds(kernel: Any) -> bool:
    """Whether a kernel has atomics on global memory, whose order rounding shows."""
    return any(
        instruction.name in ("atom", "red")
        or "_atomic_" in instruction.name
        or instruction.name == "cp"
        and "reduce" in instruction.modifiers
        for instruction in kernel.instructions
    )


def check(
    findings: Findings, kernel: Any, tensors: Sequence[Tensor], before: Kept, again: Callable[[Any], None]
) -> None:  # fmt: skip
    """Run the launch in other orders and compare; memory is left as it is now.

    Args:
        before: the contents from before the launch.
        again: runs the launch in an order.
    """
    after = Kept(tensors)
    line = next(
        (instruction.loc for instruction in kernel.instructions if instruction.loc is not None),
        None,
    )
    atomics = adds(kernel)
    try:
        for order, words in ORDERS:
            before.restore()
            try:
                again(order)
            except (ptx.Fault, ptx.Deadlock) as error:
                what = f"with its programs {words} it does not end: {error}"
                findings.note(Finding(KIND, kernel.name, what, error.line))
                return
            now = Kept(tensors)
            for tensor in tensors:
                first, second = after.of(tensor), now.of(tensor)
                difference = different(first, second, tensor.itemsize, tensor.dtype, atomics)
                if difference:
                    what = f"with its programs {words}, {tensor.name} is another: {difference}"
                    findings.note(Finding(KIND, kernel.name, what, line, tensor=tensor.name))
                    return
    finally:
        after.restore()


def different(
    first: np.ndarray, second: np.ndarray, itemsize: int, dtype: str, atomics: bool
) -> str:
    """How two results of one tensor differ by more than they may, in words; empty where they do not.

    Args:
        first, second: their bytes.
        atomics: floats may be sums in another order.
    """
    if np.array_equal(first, second):
        return ""
    if len(first) % itemsize or itemsize not in _BITS:
        return "its bytes differ"
    bits = _BITS[itemsize]
    unequal = first.view(bits) != second.view(bits)
    if not atomics or dtype not in TOLERANCES:
        return f"{int(unequal.sum())} of {len(unequal)} elements differ"
    values, other = _values(first, dtype), _values(second, dtype)
    with np.errstate(all="ignore"):
        off = np.abs(values - other)
        scale = float(np.nanmax(np.abs(values[np.isfinite(values)]), initial=0.0))
    wrong = ~(off <= TOLERANCES[dtype] * scale) & unequal & ~(np.isnan(values) & np.isnan(other))
    if not wrong.any():
        return ""
    worst = np.nanmax(off[wrong], initial=0.0)
    return f"{int(wrong.sum())} of {len(wrong)} elements differ by more than sums may, the worst by {worst:.3g}"


def _values(raw: np.ndarray, dtype: str) -> np.ndarray:
    if dtype == "bfloat16":
        return (raw.view(np.uint16).astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    return raw.view(np.dtype(dtype)).astype(np.float64)
