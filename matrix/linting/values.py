"""The value of an expression on one release, as far as known without running anything."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from crosswarp.matrix import versions

# The longest list or text stored that a stranger's file builds up.
LONGEST = 10_000


class _Unknown:
    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN = _Unknown()


class Text(str):
    """A version as a text, or a part of one: to compare two of them is to compare letters."""


@dataclass(frozen=True)
class Ref:
    """A full name of Triton's."""

    path: str


@dataclass(frozen=True)
class Module:
    """A module of the library that is checked."""

    name: str


@dataclass(frozen=True)
class Builtin:
    """A function of Python's or of a library's that is known by its full name."""

    name: str


@dataclass(frozen=True)
class Made:
    """An object in a Gluon kernel, by the full name of its class."""

    path: str


@dataclass(eq=False)
class Function:
    """A function that the library defines; `kernel` where Triton compiles it, of either language."""

    node: ast.FunctionDef | ast.AsyncFunctionDef
    scope: Any = field(repr=False)
    kernel: bool = False
    # Written in Gluon.
    gluon: bool = False
    source: Any = field(repr=False, default=None)


@dataclass(frozen=True)
class Parameters:
    """`inspect.signature(f)`, or its `.parameters`."""

    names: frozenset[str]


def truth(value: Any) -> bool | None:
    """Whether a value is true; None where that is not known."""
    if value is UNKNOWN:
        return None
    if isinstance(value, (Ref, Module, Builtin, Function, Parameters)):
        return True
    try:
        return bool(value)
    except Exception:
        return None


_COMPARE: Mapping[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda element, other: element in other,
    ast.NotIn: lambda element, other: element not in other,
}
_OPERATOR: Mapping[str, type[ast.cmpop]] = {
    "lt": ast.Lt, "le": ast.LtE, "gt": ast.Gt, "ge": ast.GtE, "eq": ast.Eq, "ne": ast.NotEq,
}  # fmt: skip
ORDER = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_CONCRETE = (str, int, float, bool, bytes, type(None), list, tuple, dict, set, versions.Version)


def concrete(value: Any) -> bool:
    """Whether all of a value is known."""
    if isinstance(value, (list, tuple, set)):
        return all(concrete(element) for element in value)
    if isinstance(value, dict):
        return all(concrete(element) for element in (*value.keys(), *value.values()))
    return isinstance(value, _CONCRETE)


def compared(operation: ast.cmpop, left: Any, other: Any) -> Any:
    if isinstance(operation, (ast.In, ast.NotIn)) and isinstance(other, Parameters):
        other = other.names
        if not isinstance(left, str):
            return UNKNOWN
    elif isinstance(operation, (ast.Is, ast.IsNot, ast.Eq, ast.NotEq)):
        # A function, a module or a class is not None.
        kinds = (Ref, Module, Builtin, Function)
        if (isinstance(left, kinds) and other is None) or (
            left is None and isinstance(other, kinds)
        ):
            return isinstance(operation, (ast.IsNot, ast.NotEq))
        if not (concrete(left) and concrete(other)):
            return UNKNOWN
    elif not (concrete(left) and concrete(other)):
        return UNKNOWN
    try:
        return bool(_COMPARE[type(operation)](left, other))
    except Exception:
        return UNKNOWN


def attribute(value: Any, name: str) -> Any:
    """Returns `value.name` for values of Python's and packaging's types."""
    if isinstance(value, versions.Version) and name in (
        *("major", "minor", "micro", "release", "base_version", "public", "is_prerelease"),
        *("is_devrelease", "local"),
    ):
        result = getattr(value, name)
        return Text(result) if isinstance(result, str) else result
    if isinstance(value, Parameters) and name == "parameters":
        return value
    return UNKNOWN


def method(value: Any, name: str, arguments: list[Any]) -> Any:
    """`value.name(*arguments)` of texts and lists."""
    if not all(concrete(argument) for argument in (value, *arguments)):
        return UNKNOWN
    try:
        if isinstance(value, str) and name in ("split", "rsplit", "partition", "rpartition"):
            parts = getattr(str(value), name)(*arguments)
            kind = Text if isinstance(value, Text) else str
            return type(parts)(kind(part) for part in parts)
        if isinstance(value, str) and name in (
            *("startswith", "endswith", "strip", "lstrip", "rstrip", "lower", "upper"),
            *("isdigit", "removeprefix", "removesuffix", "replace"),
        ):
            if len(value) + sum(len(str(argument)) for argument in arguments) > LONGEST // 10:
                return UNKNOWN
            result = getattr(str(value), name)(*arguments)
            return Text(result) if isinstance(result, str) and isinstance(value, Text) else result
        if isinstance(value, dict) and name in ("keys", "get", "items", "values"):
            result = getattr(value, name)(*arguments)
            return result if name == "get" else list(result)
    except Exception:
        pass
    return UNKNOWN


def item(value: Any, at: Any) -> Any:
    """`value[at]`; `at` may be a slice."""
    try:
        element = value[at]
    except Exception:
        return UNKNOWN
    return Text(element) if isinstance(value, Text) else element


def called(name: str, arguments: list[Any]) -> Any:
    """A function of Python's that has no effect, or a parser of versions."""
    if name in (
        "packaging.version.parse",
        "packaging.version.Version",
        "pkg_resources.parse_version",
    ):
        result = (
            versions.parse(arguments[0]) if arguments and isinstance(arguments[0], str) else None
        )
        return UNKNOWN if result is None else result
    if not all(concrete(argument) for argument in arguments):
        return UNKNOWN
    if name.startswith("operator."):
        kind = _OPERATOR.get(name.partition(".")[2])
        return UNKNOWN if kind is None or len(arguments) != 2 else compared(kind(), *arguments)
    plain: dict[str, Callable[..., Any]] = {
        "bool": bool, "int": int, "str": str, "tuple": tuple, "list": list, "len": len, "any": any, "all": all,
        "set": set, "min": min, "max": max,
    }  # fmt: skip
    if name == "int" and arguments and isinstance(arguments[0], str) and len(arguments[0]) > 9:
        return UNKNOWN
    try:
        if name == "str" and arguments and isinstance(arguments[0], (Text, versions.Version)):
            return Text(arguments[0])
        return plain[name](*arguments)
    except Exception:
        return UNKNOWN


def joined(values: Iterable[Any]) -> Any:
    """Returns a name's value after one of several branches: known where all agree."""
    known = list(values)
    first = known[0]
    for other in known[1:]:
        same = first is other or (
            type(first) is type(other) and not isinstance(first, Function) and _equal(first, other)
        )
        if not same:
            return UNKNOWN
    return first


def _equal(left: Any, other: Any) -> bool:
    try:
        return bool(left == other)
    except Exception:
        return False
