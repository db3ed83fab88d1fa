"""The meaning of a program: its text in numpy, executed, with every value checked against the claims of the walk.

A program that fails here is invalid: it is never run, and the generator has a bug.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from crosswarp.laboratory.cell.fuzzing import data

from .program import BLOCKS, Claim, IllDefined, Program
from .values import CARRIED, holds


def answers(program: Program) -> dict[str, np.ndarray]:
    """Returns the expected result in each tensor that the kernel writes, in its numpy type.

    Raises:
        IllDefined: a variable is not of the claimed type, shape or bounds; a place is written by both blocks, lies
            outside its tensor, or is counted from its end; a tensor that is read was changed.
    """
    tensors = {
        one.name: data.fill(one.size, CARRIED[one.dtype], one.low, one.high, one.salt).view(
            _Bounded
        )
        for one in program.arguments
    }
    before = {one.name: tensors[one.name].copy() for one in program.arguments if one.salt}
    scope: dict[str, Any] = {"np": np, "seen": _Seen(program.claims)}
    with np.errstate(all="raise", under="ignore"):
        try:
            exec(compile(checked(program.meaning), program.name, "exec"), scope)
            for block in range(BLOCKS):
                scope["meaning"](block, *tensors.values(), *program.numbers.values())
        except (ArithmeticError, IndexError, ValueError, TypeError) as error:
            raise IllDefined(f"{program.name}: {type(error).__name__}: {error}") from error
    for name, held in before.items():
        if not np.array_equal(held, tensors[name]):
            raise IllDefined(f"{program.name}: {name} is read and written")
    return {one.name: np.asarray(tensors[one.name]) for one in program.arguments if one.salt == 0}


def digests(found: Mapping[str, np.ndarray]) -> dict[str, str]:
    """By tensor, the digest that the process in a column compares with: the same rule on both sides."""
    return {name: data.digest(values) for name, values in found.items()}


def digest(program: Program) -> str:
    """Returns a hash of everything that determines a program's run."""
    identity = repr(
        (program.kernel, sorted(program.options.items()), sorted(program.numbers.items()))
    )
    return hashlib.sha256(identity.encode()).hexdigest()[:16]


def checked(text: str) -> str:
    """The meaning, with each assigned variable shown to `seen` in the line after it."""
    lines = []
    for line in text.splitlines():
        lines.append(line)
        name, equals, _ = line.strip().partition(" = ")
        if equals and name.isidentifier() and name.startswith("v"):
            lines.append(f"{line[: len(line) - len(line.lstrip())]}seen({name!r}, {name})")
    return "\n".join(lines) + "\n"


class _Bounded(np.ndarray):
    """An argument: numpy would take a negative index for one from the end."""

    def __getitem__(self, place: Any) -> Any:
        _within(place, self.size)
        return np.asarray(super().__getitem__(place))

    def __setitem__(self, place: Any, value: Any) -> None:
        _within(place, self.size)
        if np.unique(np.asarray(place)).size != np.size(place):
            raise IllDefined("two lanes store to one place")
        super().__setitem__(place, value)


def _within(place: Any, size: int) -> None:
    # Empty where a tile is completely beyond its edge.
    if np.size(place) and (np.min(place) < 0 or np.max(place) >= size):
        raise IllDefined(f"a place outside of a tensor of {size}")


class _Seen:
    def __init__(self, claims: Mapping[str, Claim]) -> None:
        self._claims = claims

    def __call__(self, name: str, value: Any) -> None:
        claim = self._claims[name]
        if value.dtype.name != CARRIED[claim.dtype] or value.shape != tuple(claim.shape):
            raise IllDefined(f"{name} is {value.dtype.name}{value.shape}, claimed {claim}")
        # In numpy's widest type of its kind: -128 has no magnitude in int8.
        wide = value.astype(np.float64 if value.dtype.kind == "f" else np.int64)
        if value.dtype.kind == "f" and not np.array_equal(wide, np.rint(wide)):
            raise IllDefined(f"{name} holds a value that is no integer")
        low, high = int(wide.min()), int(wide.max())
        if low < claim.low or high > claim.high or not holds(claim.dtype, low, high):
            raise IllDefined(f"{name} lies between {low} and {high}, claimed {claim}")
