"""A generated program, as data: what a column needs to run it, and what the host needs to judge and to show it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

# Blocks in a launch, each with separate memory.
BLOCKS = 2


class IllDefined(Exception):
    """The program does what the walk said that it does not, or would: the generator has a bug, and it is not run."""


@dataclass(frozen=True)
class Argument:
    """A tensor that the kernel gets.

    Attributes:
        name: of the kernel's parameter.
        dtype: as Triton calls it.
        size: elements.
        low, high: what it holds lies between them, both included; the same for what is written to.
        salt: which numbers; 0 for a tensor that the kernel writes, which holds `low` throughout.
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
        numbers: the run-time arguments behind the tensors: `lim` and `trips`.
        options: of the launch: num_warps, num_stages, num_ctas.
        tags: what is in it, by name: operations and shapes of bugs.
        needs: of the language, what a release must have, as in language.json.
        choices: that it was made by.
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
