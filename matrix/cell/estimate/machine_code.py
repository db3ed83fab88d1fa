"""The machine code of a cubin: instructions with their scheduling bits, source lines, blocks and edges.

`nvdisasm` of the wheel prints it. Of an instruction's 128 bits, the high word has the scheduling bits (Volta and
later): stall 41-44, write barrier 46-48, read barrier 49-51, wait mask 52-57. NVIDIA documents none of it; the layout
is that of Jia et al., "Dissecting the NVIDIA Volta GPU Architecture via Microbenchmarking" (arXiv 1804.06826), and the
same as in Triton's own python/triton/tools/disasm.py.
"""

import functools
import importlib.util
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Dict, List, Optional, Tuple

if TYPE_CHECKING:
    from .encodings import Encodings

_FIRST_HALF = re.compile(r"^\s+/\*([0-9a-f]{4,})\*/\s+(.*?)\s*;?\s*/\* 0x([0-9a-f]{16}) \*/")
_SECOND_HALF = re.compile(r"^\s+/\* 0x([0-9a-f]{16}) \*/")
_LINE = re.compile(r'//## File "(?:[^"]*)", line (\d+)')
_LABEL = re.compile(r"^(\.L_x_\d+|\.L_\d+):")
_GUARD = re.compile(r"^@(!?U?P[T\d]+)\s+")
_TARGET = re.compile(r"`\((\.L[\w]+)\)")
_ENDS = ("BRA", "EXIT", "RET", "BRX", "CALL", "JMP")
# No scoreboard.
NONE = 7
# Where a wheel has it, from the folder of `triton` on: since 3.0, and before.
_PLACES = ("backends/nvidia/bin/nvdisasm", "third_party/cuda/bin/nvdisasm")
# It takes one; a case has its own limit.
_SECONDS = 40
# Beyond that nothing is estimated: larger than any kernel of the suite by ten times.
MOST_INSTRUCTIONS = 200_000


class NotDisassembled(RuntimeError):
    """No machine code to look at; the text says why."""


@dataclass
class Instruction:
    """One instruction. `op` has its modifiers, `guard` the predicate without its @; `target` a label."""

    op: str
    text: str
    guard: str
    line: int
    target: str = ""
    stall: int = 0
    write_barrier: int = NONE
    read_barrier: int = NONE
    waits: int = 0
    name: str = ""


@dataclass
class Block:
    """A basic block. `next`: numbers of the blocks that may follow; `OUT` is the end of the kernel."""

    number: int
    instructions: List[Instruction]
    next: List[int] = field(default_factory=list)


OUT = -1


def blocks_of_cubin(cubin: bytes, encodings: "Optional[Encodings]" = None) -> List[Block]:
    """The blocks of a cubin's kernel, in the order of its text.

    Args:
        encodings: the known ones; nvdisasm's output is added.

    Raises:
        NotDisassembled: no nvdisasm, or it could not read this.
    """
    code = encodings.read(cubin) if encodings is not None else None
    if code is None:
        code = parsed(disassembled(cubin))
        if encodings is not None:
            encodings.learn(cubin, code)
    blocks = _blocks(*code)
    if not blocks:
        raise NotDisassembled("nvdisasm printed no instructions")
    return blocks


@functools.lru_cache(maxsize=1)
def nvdisasm() -> Optional[str]:
    """The installed Triton's nvdisasm; else one on the PATH; None where there is none."""
    spec = importlib.util.find_spec("triton")
    for root in (spec.submodule_search_locations or []) if spec else []:
        for place in _PLACES:
            if Path(root, place).is_file():
                return str(Path(root, place))
    return shutil.which("nvdisasm")


def disassembled(cubin: bytes) -> str:
    """The output of nvdisasm for a cubin.

    Raises:
        NotDisassembled: as above.
    """
    tool = nvdisasm()
    if tool is None:
        raise NotDisassembled("this Triton comes without nvdisasm, and there is none on the PATH")
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        # Without its analysis of data flow, which takes the most time.
        command = [tool, "-ndf", "-c", "-hex", "-g", file.name]
        try:
            done = subprocess.run(
                command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=_SECONDS
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise NotDisassembled(f"nvdisasm: {error}") from error
    if done.returncode:
        printed = done.stderr.decode("utf-8", "replace").strip()
        raise NotDisassembled(f"nvdisasm exits {done.returncode}: {printed[:300]}")
    return done.stdout.decode("utf-8", "replace")


def parsed(text: str) -> Tuple[List[Instruction], Dict[str, int]]:
    """The instructions of the largest function, and the places of its labels."""
    functions: List[Tuple[List[Instruction], Dict[str, int]]] = []
    instructions: List[Instruction] = []
    labels: Dict[str, int] = {}
    line = 0
    for row in text.splitlines():
        if row.startswith("//------") and ".text." in row:
            instructions, labels = [], {}
            functions.append((instructions, labels))
            continue
        match = _FIRST_HALF.match(row)
        if match:
            instructions.append(_instruction(match.group(2).strip(), line))
            continue
        match = _SECOND_HALF.match(row)
        if match and instructions:
            high = int(match.group(1), 16)
            last = instructions[-1]
            last.stall = high >> 41 & 15
            last.write_barrier, last.read_barrier = high >> 46 & 7, high >> 49 & 7
            last.waits = high >> 52 & 63
            continue
        match = _LINE.search(row)
        if match:
            line = int(match.group(1))
            continue
        match = _LABEL.match(row)
        if match:
            labels[match.group(1)] = len(instructions)
    functions = [function for function in functions if function[0]]
    largest = max(functions, key=lambda function: len(function[0])) if functions else ([], {})
    if len(largest[0]) > MOST_INSTRUCTIONS:
        raise NotDisassembled(f"more than {MOST_INSTRUCTIONS:,} instructions")
    return largest


def _instruction(body: str, line: int) -> Instruction:
    guard = _GUARD.match(body)
    if guard:
        body = body[guard.end() :]
    op = (body.split() or [""])[0].rstrip(";")
    target = _TARGET.search(body)
    return Instruction(
        op,
        body,
        guard.group(1) if guard else "",
        line,
        target.group(1) if target else "",
        name=op.split(".")[0],
    )


def _blocks(instructions: List[Instruction], labels: Dict[str, int]) -> List[Block]:
    instructions = instructions[: _end(instructions, labels)]
    end = len(instructions)
    starts = {0}
    for place, instruction in enumerate(instructions):
        if instruction.name in _ENDS:
            starts.add(place + 1)
        if instruction.name in ("BRA", "CALL") and instruction.target in labels:
            starts.add(labels[instruction.target])
    ordered = sorted(start for start in starts if start < end)
    number = {start: index for index, start in enumerate(ordered)}
    blocks = [
        Block(index, instructions[start:stop])
        for index, (start, stop) in enumerate(zip(ordered, [*ordered[1:], end]))
    ]
    after_calls, returning = [], []
    for block in blocks:
        last = block.instructions[-1]
        following = [block.number + 1] if block.number + 1 < len(blocks) else []
        place = labels.get(last.target, -1)
        target = [number[place]] if place in number else []
        if last.name == "BRA":
            first = last.text.split(",")[0]
            may_go_on = bool(last.guard) or ".DIV" in last.op or "UP" in first or "," in last.text
            block.next = target + (following if may_go_on else [])
        elif last.name == "EXIT":
            block.next = [OUT, *(following if last.guard else [])]
        elif last.name == "CALL":
            block.next = target + (following if last.guard or not target else [])
            after_calls += following
        elif last.name == "RET":
            returning.append(block)
        else:
            block.next = following or [OUT]
    for block in returning:
        block.next = after_calls or [OUT]
    for block in blocks:
        block.next = list(dict.fromkeys(block.next))
    return blocks


def _end(instructions: List[Instruction], labels: Dict[str, int]) -> int:
    """Where the padding begins, which loops on itself behind the last EXIT."""
    for place in range(len(instructions) - 1, -1, -1):
        instruction = instructions[place]
        if (
            instruction.name in ("EXIT", "RET")
            or instruction.name == "BRA"
            and labels.get(instruction.target) != place
        ):
            return place + 1
    return len(instructions)
