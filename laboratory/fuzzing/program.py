"""A generated program, as data: for a column to run it, and for the host to judge and show it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

# Blocks in a launch, each with separate memory.
BLOCKS = 2


class IllDefined(Exception):
    """The program contradicts a claim of the walk, or would: the generator has a bug, and it is not run."""


@dataclass(frozen=True)
class Argument:
    """A tensor argument of the kernel.

    Attributes:
        name: of the kernel's parameter.
        dtype: as Triton calls it.
        size: elements.
        low, high: bounds of its values, both included; the same for a tensor that is written.
        salt: selects the numbers; 0 for a tensor that the kernel writes, which holds `low` throughout.
    """

    name: str
    dtype: str
    size: int
    low: int
    high: int
    salt: int = 0


@dataclass(frozen=True)
class Claim:
    """The generator's claim about a variable, which `meaning` checks."""

    dtype: str
    shape: tuple[int, ...]
    low: int
    high: int


@dataclass(frozen=True)
class Program:
    """One kernel, with its launch and its meaning.

    Attributes:
        name: such as ``s7-123``: of seed 7, the 123rd.
        kernel: source text of the decorated function ``kernel``, with its imports.
        meaning: source text of ``meaning(block, …)``, in numpy.
        numbers: the run-time arguments after the tensors: `lim` and `trips`.
        options: of the launch: num_warps, num_stages, num_ctas.
        tags: names of its operations and of shapes of bugs.
        needs: language features that a release must have, as in language.json.
        choices: the choices that made it.
    """

    name: str
    kernel: str
    meaning: str
    arguments: tuple[Argument, ...]
    numbers: Mapping[str, int]
    options: Mapping[str, int]
    tags: frozenset[str] = frozenset()
    needs: frozenset[str] = frozenset()
    choices: tuple[int, ...] = ()
    claims: Mapping[str, Claim] = field(default_factory=dict)

    def for_cell(self) -> dict[str, Any]:
        """As the process inside a column wants it."""
        return {
            "name": self.name,
            "kernel": self.kernel,
            "arguments": [asdict(one) for one in self.arguments],
            "numbers": dict(self.numbers),
            "options": dict(self.options),
            "blocks": BLOCKS,
        }
