"""PTX's types: their width, their kind, and the numpy types that hold them."""

import re
from functools import lru_cache
from typing import NamedTuple

import numpy as np

u1, u2, u4, u8 = np.uint8, np.uint16, np.uint32, np.uint64
i1, i2, i4, i8 = np.int8, np.int16, np.int32, np.int64
f2, f4, f8 = np.float16, np.float32, np.float64

# Raw bits of a register, by its width. 128 bits are opaque.
RAW = {1: np.dtype(np.bool_), 8: np.dtype(u1), 16: np.dtype(u2), 32: np.dtype(u4), 64: np.dtype(u8),
       128: np.dtype("V16")}  # fmt: skip
RAW_NAME = {1: "np.bool_", 8: "u1", 16: "u2", 32: "u4", 64: "u8", 128: "'V16'"}
# By bytes of an access.
BY_BYTES = {1: RAW[8], 2: RAW[16], 4: RAW[32], 8: RAW[64], 16: RAW[128]}


class Type(NamedTuple):
    """A fundamental type.

    Attributes:
        bits: width of the register.
        kind: "p" predicate, "b" bits, "u" and "s" integers, "f" IEEE float, "bf" bfloat16; else the name of a packed
            or alternate type, whose raw bits are read.
    """

    bits: int
    kind: str


_NAMED = {
    "pred": Type(1, "p"),
    "bf16": Type(16, "bf"),
    "f16x2": Type(32, "f16x2"),
    "bf16x2": Type(32, "bf16x2"),
    "tf32": Type(32, "tf32"),
    "f32x2": Type(64, "f32x2"),
    "u16x2": Type(32, "u16x2"),
    "s16x2": Type(32, "s16x2"),
}


@lru_cache(maxsize=None)
def type_of(name: str) -> Type:
    """The type called `name`, without its dot.

    Raises:
        KeyError: no such type.
    """
    if name in _NAMED:
        return _NAMED[name]
    match = re.fullmatch(r"([busf])(8|16|32|64|128)", name)
    if match is None:
        raise KeyError(name)
    return Type(int(match.group(2)), match.group(1))


def is_type(name: str) -> bool:
    try:
        type_of(name)
    except KeyError:
        return False
    return True
