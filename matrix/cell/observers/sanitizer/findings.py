"""The findings of detectors, and their text."""

import os
import re
from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Tuple

Line = Optional[Tuple[str, int]]


@dataclass
class Finding:
    """One fault of a kernel.

    Attributes:
        kind: such as "out-of-bounds" or "race in shared memory".
        kernel: its name.
        what: one sentence, without addresses.
        line: (file, line) of the kernel's source; None where the PTX has no `.loc`.
        instruction: the PTX text.
        program_id, thread: the first that did it; None where it was no particular one.
        address: in bytes, of the process for global memory, of the CTA for shared memory.
        tensor: the argument that it is about, and where.
        other: the other side of a race or a copy: its line and instruction.
        count: lanes that did it, over the launch.
    """

    kind: str
    kernel: str
    what: str
    line: Line = None
    instruction: str = ""
    program_id: Optional[Tuple[int, int, int]] = None
    thread: Optional[int] = None
    address: Optional[int] = None
    tensor: str = ""
    other: str = ""
    count: int = 1

    @property
    def fingerprint(self) -> str:
        """The same for the same fault in every run: no addresses, no threads."""
        return f"fault: {self.kind} in {self.kernel}"

    def __str__(self) -> str:
        parts = [f"{self.kind}: {self.what}"]
        if self.tensor:
            parts.append(self.tensor)
        if self.line is not None:
            parts.append(where(self.line))
        if self.program_id is not None:
            thread = "" if self.thread is None else f", thread {self.thread}"
            parts.append(f"program {tuple(self.program_id)}{thread}")
        if self.address is not None:
            parts.append(f"address {self.address:#x}")
        if self.instruction:
            parts.append(f"`{self.instruction}`")
        if self.other:
            parts.append(self.other)
        if self.count > 1:
            parts.append(f"{self.count} times in all")
        return "; ".join(parts)


def shortened(text: str) -> str:
    """An instruction without the middle of its long lists of registers."""
    return re.sub(r"\{(%\w+),[^{}]{40,},\s*(%\w+)\s*\}", r"{\1, …, \2}", text)


def where(line: Line) -> str:
    return "" if line is None else f"{os.path.basename(line[0])}:{line[1]}"


class Findings:
    """The findings of one launch: one for each kind and instruction, with their number."""

    def __init__(self, kernel: Any):
        self._kernel = kernel
        self._by_place: Dict[Tuple[str, int], Finding] = {}

    def __len__(self) -> int:
        return len(self._by_place)

    def list(self) -> List[Finding]:
        """In the order in which they were met."""
        return list(self._by_place.values())

    def instruction(self, at: int) -> str:
        """An instruction with its line, in words."""
        line = self.line(at)
        place = f" in {where(line)}" if line else ""
        return f"`{shortened(self._kernel.instructions[at].text)}`{place}"

    def line(self, at: int) -> Line:
        """Return the line of the kernel's source. Line 0 means an instruction of none: the line before counts."""
        for place in range(at, -1, -1):
            loc = self._kernel.instructions[place].loc
            if loc is not None and loc[1] > 0:
                return loc
        return None

    def add(
        self, kind: str, what: str, at: int, machine: Any = None, lane: Any = None, count: int = 1, **more: Any
    ) -> None:  # fmt: skip
        """Note a finding of the instruction `at`; `lane` is its first (CTA, thread)."""
        key = (kind, at)
        if key in self._by_place:
            self._by_place[key].count += count
            return
        instruction = self._kernel.instructions[at]
        program = thread = None
        if machine is not None and lane is not None:
            program, thread = machine.program_id(int(lane[0])), int(lane[1])
        self._by_place[key] = Finding(
            kind,
            self._kernel.name,
            what,
            self.line(at),
            shortened(instruction.text),
            program,
            thread,
            count=count,
            **more,
        )

    def note(self, finding: Finding) -> None:
        """Note a finding that is of no instruction."""
        self._by_place.setdefault((finding.kind + finding.what, -1), finding)
