"""The kind of an expression, as its text shows: a value, a tensor of a dtype, a number; and where it was read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

# Triton's names of element types, by torch's and by triton.language's.
DTYPES = {
    "float16": "fp16", "half": "fp16", "bfloat16": "bf16", "float32": "fp32", "float": "fp32",
    "float64": "fp64", "double": "fp64", "bool": "i1", "int1": "i1", "int8": "i8", "int16": "i16",
    "short": "i16", "int32": "i32", "int": "i32", "int64": "i64", "long": "i64", "uint8": "u8",
    "uint16": "u16", "uint32": "u32", "uint64": "u64", "float8_e4m3fn": "fp8e4nv",
    "float8_e5m2": "fp8e5", "float8_e4m3fnuz": "fp8e4b8", "float8_e5m2fnuz": "fp8e5b16",
    "float8e4nv": "fp8e4nv", "float8e5": "fp8e5", "float8e4b8": "fp8e4b8",
    "float8e5b16": "fp8e5b16", "float8e4b15": "fp8e4b15",
}  # fmt: skip
ELEMENTS = tuple(dict.fromkeys(DTYPES.values()))
FLOATS = ("fp16", "bf16", "fp32", "fp64")
# The modules that have the dtypes as attributes.
LANGUAGES = ("triton.language", "triton.experimental.gluon.language")


@dataclass(frozen=True)
class Kind:
    """The kind of an expression.

    Attributes:
        what: ``value`` (known), ``tensor``, ``int``, ``float``, ``bool``, ``dtype``, ``shape`` (a tuple of unknown
            integers), ``saved`` (a tuple of tensors), ``tuple``, ``function``, ``made``, or ``unknown``.
        value: of a value; of a tensor, the kinds of its sizes, or None; of a dtype, Triton's name of it; the members
            of a tuple; the name of a function; of what a call of Triton made (a layout, a descriptor), that `Call`.
        dtype: of a tensor, Triton's name; empty where it is not in the file.
        line: where that was read; 0 where nowhere.
        others: other kinds that it may have, on another way to the same place.
    """

    what: str
    value: Any = None
    dtype: str = ""
    line: int = 0
    others: tuple[str, ...] = ()

    def at(self, line: int) -> Kind:
        return self if self.line else replace(self, line=line)

    def __str__(self) -> str:
        if self.what == "value":
            return repr(self.value)
        if self.what == "tensor":
            return f"a tensor of {self.dtype}" if self.dtype else "a tensor"
        if self.what in ("function", "made"):
            return str(self.value)
        return f"the dtype {self.value}" if self.what == "dtype" else self.what


@dataclass(frozen=True)
class Call:
    """A call of a class or function of Triton's: its full name, and the kinds of its arguments."""

    of: str
    arguments: tuple[Kind, ...] = ()
    words: Mapping[str, Kind] = field(default_factory=dict)

    def __str__(self) -> str:
        words = [f"{name}={kind}" for name, kind in self.words.items()]
        return f"{self.of.rpartition('.')[2]}({', '.join([*map(str, self.arguments), *words])})"


UNKNOWN = Kind("unknown")
TENSOR, INT, FLOAT, BOOL, SHAPE = (
    Kind(what) for what in ("tensor", "int", "float", "bool", "shape")
)


def value(content: Any, line: int = 0) -> Kind:
    return Kind("value", content, line=line)


def number(kind: Kind) -> str:
    """`int`, `float` or `bool` of a number, known or not; else an empty string."""
    if kind.what == "value":
        if isinstance(kind.value, bool):
            return "bool"
        return type(kind.value).__name__ if isinstance(kind.value, (int, float)) else ""
    return kind.what if kind.what in ("int", "float", "bool") else ""


def join(joined: Iterable[Kind]) -> Kind:
    """One kind for a value that comes on several ways: the first with the most facts, with the others beside it."""
    kinds = [kind for kind in joined if kind.what != "unknown"]
    if not kinds:
        return UNKNOWN
    # None is an argument that is left out; a passed one has more facts.
    best = max(kinds, key=_tells)
    if best.what == "tensor" and any(
        kind.what == "tensor" and _sizes(kind) != _sizes(best) for kind in kinds
    ):
        # With several shapes, none is known.
        best = replace(best, value=None)
    others = [
        str(kind)
        for kind in kinds
        if str(kind) != str(best) and not (kind.what == best.what == "tensor" and not kind.dtype)
    ]
    return replace(best, others=tuple(dict.fromkeys((*best.others, *others))))


def _sizes(tensor: Kind) -> list[str]:
    return [str(size) for size in tensor.value or ()]


def _tells(kind: Kind) -> int:
    if kind.what == "value":
        return 0 if kind.value is None else 2
    if kind.what == "tensor":
        return 3 if kind.dtype else 2
    return 1
