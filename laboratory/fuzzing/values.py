"""The known facts about a value of a generated program: its type, its shape, and the integers that bound it.

Every value of every type is an integer within the range in which that type holds integers exactly. So sums may be taken
in any order, matmuls in any precision that the type promises, and two right answers are equal bit for bit.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

# Signed ones whose range is their own.
INTEGERS = ("int32", "int64", "int16", "int8")
# To which magnitude every whole number is one of the type's: 2 to the power of its significand's bits.
EXACT = {
    "float32": 2**24, "float16": 2**11, "bfloat16": 2**8, "float64": 2**53, "float8e5": 2**3, "float8e4nv": 2**4,
}  # fmt: skip
FLOATS = tuple(EXACT)
# Types in which numpy holds the values; it has no bfloat16 or float8.
CARRIED = {
    "int1": "bool", "bfloat16": "float32", "float8e5": "float32", "float8e4nv": "float32",
    **{name: name for name in (*INTEGERS, "float16", "float32", "float64")},
}  # fmt: skip
# The most elements in one tensor of a program.
LARGEST = 8192


@dataclass(frozen=True)
class Value:
    """A variable of the program.

    Attributes:
        name: in the kernel and in its meaning.
        dtype: as Triton calls it.
        shape: () of a scalar.
        low, high: what every element lies between, both included.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    low: int
    high: int

    @property
    def most(self) -> int:
        """The largest magnitude."""
        return max(abs(self.low), abs(self.high))

    @property
    def size(self) -> int:
        return prod(self.shape)


def limits(dtype: str) -> tuple[int, int]:
    """The least and the greatest whole number that a value of `dtype` may be here."""
    if dtype == "int1":
        return 0, 1
    if dtype in EXACT:
        return -EXACT[dtype], EXACT[dtype]
    bits = int(dtype.removeprefix("int"))
    return -(2 ** (bits - 1)), 2 ** (bits - 1) - 1


def holds(dtype: str, low: int, high: int) -> bool:
    """Whether `dtype` holds every whole number between the two."""
    least, greatest = limits(dtype)
    return least <= low and high <= greatest
