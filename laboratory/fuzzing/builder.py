"""The walk's pen: each line is written twice, for the kernel and for its meaning in numpy, and kept as a claim."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from math import prod

from .choices import Choices
from .program import BLOCKS, Argument, Claim, IllDefined
from .values import CARRIED, FLOATS, LARGEST, Value, holds

# The most iterations that all loops around a line make together.
MOST_TURNS = 15
TRIPS = 5


class Builder:
    """The program so far.

    Attributes:
        choices: the source of its decisions.
        pool: the variables in scope, oldest first.
        slots: the iteration of the loops around, as an expression, and the most there are.
        tags, needs: see Program.
        widened: names of values cast from eight bits.
        reduced: names of one-dimensional results of a reduction, and of element-wise results of those.
    """

    def __init__(
        self, choices: Choices, names: Collection[str], avoided: Collection[str] = ()
    ) -> None:
        self.choices = choices
        self._names, self.avoided = frozenset(names), frozenset(avoided)
        self.pool: list[Value] = []
        self.slots: tuple[str, int] = ("0", 1)
        self.tags: set[str] = set()
        self.needs: set[str] = set()
        self.widened: set[str] = set()
        self.reduced: set[str] = set()
        self.inputs: list[Argument] = []
        self.outputs: list[Argument] = []
        self.claims: dict[str, Claim] = {}
        self._used: set[str] = set()
        # By which statement a variable was made, where it has a tag.
        self._made_by: dict[str, str] = {}
        self._kernel: list[str] = []
        self._meaning: list[str] = []
        self._indent = 1
        self._ranges: list[int] = []
        self._count = 0
        # How many compound statements surround the line.
        self.depth = 0

    # Features of the language, and those to leave out.

    def has(self, name: str) -> bool:
        """Whether every release that the program is for has `name`; a caller that uses it records that by `use`."""
        return name in self._names

    def use(self, *names: str) -> None:
        self.needs.update(names)

    def allowed(self, tag: str) -> bool:
        """Whether a shape that is known to fail may be made; notes that it was."""
        if tag in self.avoided:
            return False
        self.tags.add(tag)
        return True

    # Lines.

    def line(self, kernel: str, meaning: str | None = None) -> None:
        self._kernel.append("    " * self._indent + kernel)
        self._meaning.append("    " * self._indent + (kernel if meaning is None else meaning))

    def said(self, kernel: str) -> None:
        """A line of the kernel that means nothing by itself."""
        self._kernel.append("    " * self._indent + kernel)

    def meant(self, meaning: str) -> None:
        """A line of the meaning alone."""
        self._meaning.append("    " * self._indent + meaning)

    @contextmanager
    def block(self, kernel: str, meaning: str | None = None) -> Iterator[None]:
        """Indents the statements inside; their variables go out of scope afterwards."""
        self.line(kernel, meaning)
        known, at = len(self.pool), len(self._kernel)
        self._indent += 1
        self.depth += 1
        yield
        if len(self._kernel) == at:
            self.line("pass")
        self._indent -= 1
        self.depth -= 1
        del self.pool[known:]

    def fresh(self, letter: str = "v") -> str:
        self._count += 1
        return f"{letter}{self._count}"

    def let(
        self,
        dtype: str,
        shape: Sequence[int],
        bounds: tuple[int, int],
        kernel: str,
        meaning: str | None = None,
        tag: str = "",
    ) -> Value:
        """A new variable, of which the walk claims type, shape and bounds."""
        value = Value(self.fresh(), dtype, tuple(shape), *bounds)
        if not holds(dtype, *bounds) or value.size > LARGEST:
            raise IllDefined(f"{value} = {kernel}")
        self.assign(value, kernel, meaning)
        self.pool.append(value)
        if tag:
            self.tags.add(tag)
            self._made_by[value.name] = tag
            if tag != "clamp":
                # A statement that moves elements gives them a new layout.
                self.reduced.discard(value.name)
        return value

    def made_by(self, value: Value) -> str:
        """The tag of the statement that made `value`."""
        return self._made_by.get(value.name, "")

    def assign(self, value: Value, kernel: str, meaning: str | None = None) -> None:
        """The line that gives `value` its name, new or once more."""
        text = kernel if meaning is None else meaning
        # Its new value has not been read yet.
        self._used.discard(value.name)
        self.line(
            f"{value.name} = {kernel}",
            f"{value.name} = np.asarray({text}, np.{CARRIED[value.dtype]})",
        )
        self.claims[value.name] = Claim(value.dtype, value.shape, value.low, value.high)
        if any(self.claims[name].shape == value.shape for name in self._reduced_in(kernel)):
            self.reduced.add(value.name)

    def _reduced_in(self, kernel: str) -> set[str]:
        return self.reduced.intersection(re.findall(r"\bv\d+\b", kernel)) if self.reduced else set()

    # Choices among existing values.

    def some(self, fits: Callable[[Value], bool]) -> Value | None:
        """A variable that fits: one that nothing has read yet, and a young one, more likely."""
        found = [value for value in reversed(self.pool) if fits(value)]
        if not found:
            return None
        found.sort(key=lambda value: value.name in self._used)
        value = self.choices.near(found)
        self._used.add(value.name)
        return value

    def like(self, value: Value) -> Value:
        """Another of its type, of a shape that is broadcast to its own; at worst itself."""

        def fits(other: Value) -> bool:
            if other.dtype != value.dtype or other.name == value.name:
                return False
            return other.shape in ((), value.shape) or (
                len(other.shape) == len(value.shape)
                and all(n in (1, m) for n, m in zip(other.shape, value.shape, strict=True))
            )

        return self.some(fits) or value

    def unused(self, value: Value) -> bool:
        return value.name not in self._used

    def read(self, value: Value) -> None:
        self._used.add(value.name)

    # Places in memory.

    def axis(self, length: int) -> str:
        """The name of ``tl.arange(0, length)``."""
        if length not in self._ranges:
            self._ranges.append(length)
        return f"r{length}"

    def along(self, shape: Sequence[int], axis: int) -> str:
        """The range of one axis, as a tensor of as many dimensions as `shape`."""
        name = self.axis(shape[axis])
        if len(shape) == 1:
            return name
        places = ", ".join(":" if place == axis else "None" for place in range(len(shape)))
        return f"{name}[{places}]"

    def offsets(self, shape: Sequence[int]) -> str:
        """Row-major places of a tensor's elements; empty for a scalar."""
        parts = []
        for axis in range(len(shape)):
            stride = prod(shape[axis + 1 :])
            along = self.along(shape, axis)
            parts.append(along if stride == 1 else f"{along} * {stride}")
        return " + ".join(parts)

    def memory(self, shape: Sequence[int]) -> tuple[str, int]:
        """Returns the start of the memory of this iteration of this block, and the elements that all of them need."""
        turn, turns = self.slots
        size = prod(shape)
        first = "block" if turns == 1 else f"(block * {turns} + {turn})"
        return f"{first} * {size}", size * turns * BLOCKS

    def place(self, shape: Sequence[int]) -> tuple[str, int]:
        """Returns the place of a tensor of `shape` for this iteration of this block, and the elements for all."""
        first, size = self.memory(shape)
        offsets = self.offsets(shape)
        return first + (f" + {offsets}" if offsets else ""), size

    def input(self, dtype: str, size: int, low: int, high: int) -> str:
        name = f"x{len(self.inputs)}"
        self.inputs.append(Argument(name, dtype, size, low, high, salt=len(self.inputs) + 1))
        return name

    def output(self, dtype: str, size: int, held: int) -> str:
        name = f"y{len(self.outputs)}"
        self.outputs.append(Argument(name, dtype, size, held, held))
        return name

    # The end.

    def texts(self) -> tuple[str, str]:
        """The kernel and its meaning."""
        names = ", ".join([one.name for one in (*self.inputs, *self.outputs)] + ["lim", "trips"])
        kernel = [
            "import triton",
            "import triton.language as tl",
            "",
            *HELPERS,
            "",
            "@triton.jit",
            f"def kernel({names}):",
            "    block = tl.program_id(0)",
            *(f"    r{length} = tl.arange(0, {length})" for length in self._ranges),
            *self._kernel,
        ]
        meaning = [
            f"def meaning(block, {names}):",
            *(f"    r{length} = np.arange({length}, dtype=np.int32)" for length in self._ranges),
            *self._meaning,
            "    return None",
        ]
        return "\n".join(_needed(kernel)) + "\n", "\n".join(meaning) + "\n"


# Combine functions for reductions and scans: Triton requires them at module level.
HELPERS = (
    "@triton.jit",
    "def larger(a, b):",
    "    return tl.maximum(a, b)",
    "",
    "",
    "@triton.jit",
    "def added(a, b):",
    "    return a + b",
    "",
    "",
    # For pairs: the larger first element wins; on a tie, the smaller second one.
    "@triton.jit",
    "def pairs(a, b, c, d):",
    "    other = (c > a) | ((c == a) & (d < b))",
    "    return tl.where(other, c, a), tl.where(other, d, b)",
    "",
)


def _needed(lines: Sequence[str]) -> list[str]:
    """Without the helpers that the kernel does not name."""
    body = "\n".join(lines[lines.index("    block = tl.program_id(0)") :])
    found: list[str] = []
    skipping = False
    for place, line in enumerate(lines):
        following = lines[place + 1] if place + 1 < len(lines) else ""
        if line == "@triton.jit":
            name = following.removeprefix("def ").split("(")[0]
            skipping = name != "kernel" and re.search(rf", {name}\b", body) is None
        if not skipping:
            found.append(line)
    return found


def is_float(value: Value) -> bool:
    return value.dtype in FLOATS
