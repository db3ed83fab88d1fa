"""The arguments that a kernel is compiled with, each with its origin, and the missing ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

# Hints for a pointer or an integer. "16": a multiple of 16 (bytes), as torch's tensors and most sizes are. "any":
# neither that nor 1, so that Triton specialises on nothing. "1": Triton compiles it in.
HINTS = ("16", "any", "1")
SCALARS = ("i1", "i32", "i64", "u64", "fp32")
CONSTEXPR, NONE, DESCRIPTOR = "constexpr", "none", "descriptor"
_GLUON = "triton.experimental.gluon."


@dataclass(frozen=True)
class Argument:
    """
    Attributes:
        type: ``*fp16``, ``i32``, ``fp32``, ``i1``, ``none``, ``constexpr``, or ``descriptor``.
        hint: one of HINTS, of a pointer or an integer whose value is not known; else empty.
        value: of a constexpr, a descriptor, or of a number that the file has; plain data, see `shown`.
        origin: where it was read, in a few words.
        assumed: whether the file does not say it: its dtype, or its type or value as a whole.
        others: arguments on other ways to the same launch, which are not compiled.
    """

    name: str
    type: str
    hint: str = ""
    value: Any = None
    origin: str = ""
    assumed: bool = False
    others: tuple[str, ...] = ()

    def __str__(self) -> str:
        if self.type in (CONSTEXPR, DESCRIPTOR):
            return f"{self.name}={shown(self.value)}"
        if self.type == NONE:
            return f"{self.name}=None"
        if self.value is not None:
            return f"{self.name}={shown(self.value)} {self.type}"
        return f"{self.name} {self.type}{f':{self.hint}' if self.hint else ''}"


@dataclass(frozen=True)
class Signature:
    """One way in which a kernel is compiled.

    Attributes:
        id: ``line-42`` for the launch there, ``given``, or ``declared`` where only the kernel shows it.
        positional: how many of the arguments are passed by position.
        left: parameters that its decorators give.
        options: those of the launch, such as num_warps, with their values.
        origins: those of the options.
        lines: those of the launches that are this one.
        spare: the assumptions for those of `left` that its decorators turn out not to give.
        others: the same with other assumptions, in the order in which they are tried.
    """

    id: str
    arguments: tuple[Argument, ...]
    positional: int = 0
    left: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    origins: Mapping[str, str] = field(default_factory=dict)
    lines: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()
    spare: tuple[Argument, ...] = ()
    others: tuple[Signature, ...] = ()

    @property
    def assumed(self) -> list[Argument]:
        return [argument for argument in self.arguments if argument.assumed]

    @property
    def attempts(self) -> tuple[Signature, ...]:
        return (self, *self.others)

    @property
    def program(self) -> tuple[object, ...]:
        """Equal for two of which the same is compiled."""
        arguments = [
            (argument.name, argument.type, argument.hint, repr(argument.value))
            for argument in self.arguments
        ]
        return (*arguments, *sorted((name, repr(given)) for name, given in self.options.items()))

    def __str__(self) -> str:
        options = [f"{name}={shown(given)}" for name, given in self.options.items()]
        return ", ".join([*map(str, self.arguments), *options])

    def fields(self) -> dict[str, Any]:
        """The fields for the cell side."""
        return {
            "arguments": [
                {
                    "name": argument.name,
                    "type": argument.type,
                    "hint": argument.hint,
                    "value": argument.value,
                }
                for argument in self.arguments
            ],
            "positional": self.positional,
            "options": dict(self.options),
            "spare": {spare.name: spare.value for spare in self.spare},
            "assumed": [argument.name for argument in self.assumed],
        }


@dataclass(frozen=True)
class Inferred:
    """The facts about one kernel.

    Attributes:
        line: where it begins.
        signatures: with which it is compiled; none where `why` says that it is not.
        why: why it is not checked, in a sentence that ends with a remedy; empty where it is.
        part_of: for a kernel without a launch that others call: their names. Nothing is missing there.
        device: it returns a value or takes blocks of elements, and no kernel of the file calls it: a function for
            kernels of other files.
        lacking: why launches were left out beside `signatures`.
    """

    kernel: str
    line: int
    parameters: tuple[str, ...] = ()
    signatures: tuple[Signature, ...] = ()
    why: str = ""
    part_of: tuple[str, ...] = ()
    lacking: tuple[str, ...] = ()
    tunes: tuple[str, ...] = ()
    device: bool = False


def shown(given: Any) -> str:
    """A value as it is written in a launch."""
    if isinstance(given, dict):
        if "dtype" in given:
            return f"tl.{given['dtype']}"
        if "name" in given:
            return str(given["name"])
        if "tensor" in given:
            return f"*{given['tensor']}"
        if "made" in given:
            of = given["made"].removeprefix(_GLUON).replace("language.", "gl.", 1)
            words = [f"{name}={shown(word)}" for name, word in given["words"].items()]
            return f"{of}({', '.join([*map(shown, given['arguments']), *words])})"
        return repr(given.get("value"))
    return repr(given)
