"""Reads ``--signature`` and ``--constexpr``, kernel by kernel."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from crosswarp.matrix.errors import UsageError
from crosswarp.matrix.signatures.kinds import DTYPES, ELEMENTS, LANGUAGES
from crosswarp.matrix.signatures.signature import HINTS, NONE, SCALARS, Argument

_TYPE = re.compile(r"(?P<type>\*?[a-z0-9_]+)(?::(?P<hint>16|any|1))?")
# Characters of an option that a message repeats.
_SHOWN = 200


@dataclass(frozen=True)
class Given:
    """One option: the kernels that it means, and their arguments by position and by name."""

    kernels: str
    text: str
    places: tuple[Argument, ...] = ()
    names: Mapping[str, Any] = field(default_factory=dict)

    def of(self, kernel: str) -> bool:
        return fnmatchcase(kernel, self.kernels)


def signature(text: str) -> Given:
    """``kernel:*fp32,*fp32,i32`` or ``kernel:x=*fp16,n=i32:1``. Raises UsageError."""
    kernels, parts = _parts("--signature", text, "'add_kernel:*fp32,*fp32,*fp32,i32'")
    places: list[Argument] = []
    names: dict[str, Argument] = {}
    for part in parts:
        name, equals, written = part.rpartition("=")
        argument = _argument(name.strip(), written.strip(), text)
        if equals:
            names[argument.name] = argument
        else:
            places.append(argument)
    return Given(kernels, text, tuple(places), names)


def constexpr(text: str) -> Given:
    """``kernel:BLOCK=128,ACTIVATION=relu``. Raises UsageError."""
    kernels, parts = _parts("--constexpr", text, "'add_kernel:BLOCK=128'")
    names: dict[str, Any] = {}
    for part in parts:
        name, equals, value = part.partition("=")
        if not equals or not name.strip().isidentifier():
            raise UsageError(
                f'--constexpr "{text:.{_SHOWN}}": "{part:.{_SHOWN}}" is no NAME=VALUE. Write add_kernel:BLOCK=128.'
            )
        names[name.strip()] = _value(value.strip())
    return Given(kernels, text, (), names)


def check_names(option: str, given: Iterable[Given], kernels: Sequence[str]) -> None:
    for wanted in given:
        if not any(wanted.of(kernel) for kernel in kernels):
            raise UsageError(
                f'--{option} "{wanted.text:.{_SHOWN}}": no kernel is called {wanted.kernels:.{_SHOWN}}. There are: '
                f"{', '.join(kernels)}."
            )


def _parts(option: str, text: str, example: str) -> tuple[str, list[str]]:
    kernels, colon, rest = text.partition(":")
    if not colon or not kernels.strip() or not rest.strip():
        raise UsageError(
            f'{option} "{text:.{_SHOWN}}": begin with the kernel and a colon: {example}.'
        )
    return kernels.strip(), [part.strip() for part in _split(rest)]


def _split(text: str) -> list[str]:
    """The parts between commas that are in no brackets. One that is opened and not closed is none."""
    parts = []
    end, inside = len(text), 0
    for place in range(len(text) - 1, -1, -1):
        character = text[place]
        if character in "()[]{}":
            inside = inside + 1 if character in ")]}" else max(inside - 1, 0)
        elif character == "," and not inside:
            parts.append(text[place + 1 : end])
            end = place
    return [*parts, text[:end]][::-1]


def _argument(name: str, type_: str, text: str) -> Argument:
    origin = "--signature"
    if type_ == "None":
        return Argument(name, NONE, origin=origin)
    number = _number(type_)
    if number is not None:
        return number_argument(name, number, origin)
    match = _TYPE.fullmatch(type_)
    kind = match["type"] if match else ""
    element = kind.removeprefix("*")
    element = element if element in ELEMENTS else DTYPES.get(element, "")
    if match and kind.startswith("*") and element and match["hint"] != "1":
        return Argument(name, f"*{element}", match["hint"] or "16", origin=origin)
    if match and not kind.startswith("*") and element in SCALARS:
        hint = "" if element in ("i1", "fp32") else match["hint"] or "16"
        return Argument(name, element, hint, origin=origin)
    raise UsageError(
        f'--signature "{text:.{_SHOWN}}": "{type_:.{_SHOWN}}" is no type of an argument. Pointers are *fp16, '
        f"*bf16, *fp32, *i32 and the like, numbers {', '.join(SCALARS)} or a value, each with one of "
        f":{', :'.join(HINTS)} behind it."
    )


def number_argument(name: str, number: Any, origin: str) -> Argument:
    """A number whose value is known, as Triton types it."""
    if isinstance(number, bool):
        return Argument(name, "i1", value=number, origin=origin)
    if isinstance(number, float):
        return Argument(name, "fp32", value=number, origin=origin)
    if -(2**31) <= number < 2**31:
        return Argument(name, "i32", value=number, origin=origin)
    return Argument(name, "i64" if number < 2**63 else "u64", value=number, origin=origin)


def _number(text: str) -> Any:
    try:
        literal = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return None
    return literal if isinstance(literal, (int, float)) else None


def _value(text: str) -> Any:
    """As plain data: a text where it is nothing else."""
    module, _, last = text.rpartition(".")
    if module in ("tl", "gl", *LANGUAGES) and last in DTYPES:
        return {"dtype": last}
    try:
        node = ast.parse(text, mode="eval").body
        if isinstance(node, ast.Call):
            return _made(node)
        literal = ast.literal_eval(node)
    except (ValueError, SyntaxError):
        return {"value": text}
    return {"value": list(literal) if isinstance(literal, tuple) else literal}


def _made(node: ast.Call) -> dict[str, Any]:
    """A call such as ``gl.BlockedLayout([1], [32], [4], [0])``. Raises ValueError for any other."""
    name = ast.unparse(node.func)
    if not name.startswith("gl."):
        raise ValueError(name)
    return {
        "made": f"triton.experimental.gluon.language.{name.removeprefix('gl.')}",
        "arguments": [_value(ast.unparse(arg)) for arg in node.args],
        "words": {
            str(keyword.arg): _value(ast.unparse(keyword.value)) for keyword in node.keywords
        },
    }
