"""The numbers that a program gets, made the same way on both sides, in every numpy, and the digest of an answer."""

import hashlib
from typing import Any

import numpy as np


def fill(size: int, dtype: str, low: int, high: int, salt: int) -> np.ndarray:
    """Whole numbers from `low` to `high`, both included, of numpy's `dtype`, shape (size,).

    No generator of numpy's, whose sequences may change with its version: Knuth's multiplicative hash of the place,
    with the high bits folded down. With salt 0 it is `low` throughout.
    """
    if salt == 0 or low == high:
        return np.full(size, low, dtype)
    places = np.arange(size, dtype=np.uint64) + np.uint64(salt * 7919)
    mixed = (places * np.uint64(2654435761)) & np.uint64(0xFFFFFFFF)
    mixed = ((mixed ^ (mixed >> np.uint64(15))) * np.uint64(2246822519)) & np.uint64(0xFFFFFFFF)
    mixed = mixed ^ (mixed >> np.uint64(13))
    return ((mixed % np.uint64(high - low + 1)).astype(np.int64) + low).astype(dtype)


def digest(values: Any) -> str:
    """Equal numbers have equal digests: -0.0 is 0.0, and every NaN is one."""
    values = np.ascontiguousarray(values)
    if values.dtype.kind == "f":
        # A sum with zero is never -0.0.
        values = values + values.dtype.type(0)
        values = np.where(np.isnan(values), values.dtype.type("nan"), values)
    content = values.dtype.str.encode() + b"\0" + values.tobytes()
    return hashlib.sha256(content).hexdigest()
