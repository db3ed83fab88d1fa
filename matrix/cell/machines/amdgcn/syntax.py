"""Read AMD assembly text: the instructions of one kernel, by block."""

import os
import re
from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional, Set, Tuple

import numpy as np

from . import constants, metadata, operands
from .errors import Unsupported
from .operands import Operand

_LABEL = re.compile(r"^([.\w$@]+):")
_LOC = re.compile(r"\.loc\s+(\d+)\s+(\d+)")
_FILE = re.compile(r'^\s*\.file\s+(\d+)\s+"([^"]*)"(?:\s+"([^"]*)")?', re.M)
# By separator of `split`, the letters that it has to look at. A tab is a blank.
_MARKS = {",": re.compile(r"[][()\",]"), " ": re.compile(r"[][()\" \t]")}
_TARGET = re.compile(r'\.amdgcn_target\s+"[^"]*?(gfx\w+)')
# Instructions that end a block: control goes elsewhere, or other waves may have to come first.
_ENDS = ("s_branch", "s_cbranch", "s_endpgm", "s_barrier", "s_setpc", "s_swappc")
# Instructions whose operands are all written like modifiers.
_ALL_MODIFIERS = ("s_waitcnt", "s_wait_", "s_delay_alu", "s_sendmsg")
# Modifiers that may stand where the first operand does (`buffer_inv sc1`).
_BARE = ("sc0", "sc1", "nt", "glc", "slc", "dlc")


class Modifiers(Dict[str, str]):
    """The modifiers of an instruction, name -> value, "" for those without one.

    Attributes:
        read: names that somebody asked for. A modifier that nobody reads would change results unseen, so the lowering
            refuses it.
    """

    def __init__(self) -> None:
        super().__init__()
        self.read: Set[str] = set()

    def __contains__(self, key: object) -> bool:
        self.read.add(str(key))
        return super().__contains__(key)

    def __getitem__(self, key: str) -> str:
        self.read.add(key)
        return super().__getitem__(key)

    def get(self, key: str, default: Any = None) -> Any:
        self.read.add(key)
        return super().get(key, default)

    def unread(self) -> List[str]:
        return [key for key in self if key not in self.read]


@dataclass
class Instruction:
    """One instruction, or the first half of two that are issued together.

    Attributes:
        line: of the text, from 1.
        loc: (file, line) of the kernel's source; None without a `.loc`.
        index: its place in `Kernel.instructions`.
        pair: the other half of a dual issue.
    """

    name: str
    operands: List[Operand]
    modifiers: Modifiers
    line: int
    text: str
    loc: Optional[Tuple[str, int]] = None
    index: int = 0
    pair: Optional["Instruction"] = None

    def halves(self) -> List["Instruction"]:
        """The instruction, or both that are issued together."""
        return [self] if self.pair is None else [self, self.pair]


@dataclass
class Kernel:
    """One kernel of a text.

    Attributes:
        target: such as "gfx942".
        blocks: (first, end) of `instructions` for each basic block.
        labels: name -> number of the block.
        directives: of `.amdhsa_kernel`, without their prefix.
        arguments: of the metadata, see `metadata.arguments`.
        wave: lanes of a wave.
        tables: by name, the bytes that code finds by their distance.
    """

    name: str
    target: str
    instructions: List[Instruction]
    blocks: List[Tuple[int, int]]
    labels: Dict[str, int]
    directives: Dict[str, int]
    arguments: List[metadata.Argument] = field(default_factory=list)
    wave: int = 64
    tables: Dict[str, np.ndarray] = field(default_factory=dict)

    @property
    def generation(self) -> Tuple[int, int]:
        """(9, 0x42) of gfx942, (11, 0) of gfx1100."""
        digits = self.target[3:]
        return int(digits[:-2]), int(digits[-2:], 16)

    def directive(self, name: str, default: int = 0) -> int:
        return self.directives.get(name, default)


def split(text: str, separator: str) -> List[str]:
    """The parts of a text, split where the separator stands outside of brackets and quotes."""
    parts: List[str] = []
    depth, start, quoted = 0, 0, False
    for mark in _MARKS[separator].finditer(text):
        letter = mark[0]
        if letter == '"':
            quoted = not quoted
        elif letter in "[(":
            depth += 1
        elif letter in "])":
            depth -= 1
        elif depth == 0 and not quoted:
            parts.append(text[start : mark.start()])
            start = mark.end()
    parts.append(text[start:])
    return [part.strip() for part in parts if part.strip()]


def instruction(text: str, line: int = 0) -> Instruction:
    """One instruction without label or comment."""
    name, _, rest = (
        text.strip().partition("\t") if "\t" in text.strip() else text.strip().partition(" ")
    )
    modifiers = Modifiers()
    texts: List[str] = []
    of_modifiers = name.startswith(_ALL_MODIFIERS)
    for piece in split(rest, ","):
        # Most are one operand alone.
        parts = split(piece, " ") if " " in piece or "\t" in piece else [piece]
        if not of_modifiers and parts[0] not in _BARE and not parts[0].startswith("scope:"):
            texts.append(parts[0])
            parts = parts[1:]
        for part in parts:
            _add_modifier(modifiers, part)
    return Instruction(
        name.strip(), [operands.parse(operand) for operand in texts], modifiers, line, text.strip()
    )


def _add_modifier(modifiers: Modifiers, text: str) -> None:
    key, colon, value = text.partition(":")
    if not colon and "(" in key:
        key, _, value = text.partition("(")
        value = value[:-1] if value.endswith(")") else value
    modifiers[key] = value


def parse(text: str) -> Kernel:
    """The first kernel of a text.

    Raises:
        Unsupported: there is none.
    """
    target = _TARGET.search(text)
    directives = metadata.directives(text)
    name = metadata.kernel_name(text)
    if target is None or name is None:
        raise Unsupported("a text without a kernel")
    lines = text.splitlines()
    start = next((place for place, row in enumerate(lines) if row.startswith(f"{name}:")), None)
    if start is None:
        raise Unsupported(f"a text without the code of {name}")
    reader = _Reader({int(match[0]): os.path.join(*match[1:]) for match in _FILE.findall(text)})
    preloaded = bool(directives.get("user_sgpr_kernarg_preload_length"))
    for number in range(start + 1, len(lines)):
        line = lines[number]
        if preloaded and not reader.instructions and line.strip().startswith("s_trap 2"):
            # Met by firmware that preloads no arguments; other firmware begins behind it.
            continue
        if line.startswith((".Lfunc_end", "\t.section")):
            break
        reader.read(line, number + 1)
    wave = 32 if directives.get("wavefront_size32") else 64
    arguments = metadata.arguments(text)
    tables = constants.resolve(reader.instructions, lines)
    return Kernel(
        name, target.group(1), reader.instructions, reader.finish(), reader.labels, directives, arguments, wave, tables
    )  # fmt: skip


class _Reader:
    def __init__(self, files: Dict[int, str]):
        self._files = files
        self._loc: Optional[Tuple[str, int]] = None
        self.instructions: List[Instruction] = []
        self.labels: Dict[str, int] = {}
        self._starts = [0]

    def read(self, line: str, number: int) -> None:
        line = line.split(";")[0].split("//")[0].rstrip()
        label = _LABEL.match(line)
        if label:
            self._begin_block()
            self.labels[label.group(1)] = len(self._starts) - 1
            return
        line = line.strip()
        loc = _LOC.match(line)
        # Line 0 belongs to no line of the source: the one before counts.
        if loc and int(loc.group(2)) > 0:
            self._loc = (self._files.get(int(loc.group(1)), loc.group(1)), int(loc.group(2)))
        if not line or line.startswith("."):
            return
        halves = [instruction(half, number) for half in line.split("::")]
        first = halves[0]
        first.text = line
        if len(halves) == 2:
            first.pair = halves[1]
        for part in halves:
            part.loc, part.index = self._loc, len(self.instructions)
        self.instructions.append(first)
        if first.name.startswith(_ENDS):
            self._begin_block()

    def _begin_block(self) -> None:
        if self._starts[-1] != len(self.instructions):
            self._starts.append(len(self.instructions))

    def finish(self) -> List[Tuple[int, int]]:
        ends = [*self._starts[1:], len(self.instructions)]
        return [block for block in zip(self._starts, ends) if block[0] < block[1]]
