"""The exceptions for each kind of error in a PTX program."""

from typing import Optional, Tuple

Line = Optional[Tuple[str, int]]


class PTXError(Exception):
    """The base of all."""


class Unsupported(PTXError):
    """The emulator does not know an instruction, or a form of it.

    Attributes:
        opcode: the instruction with its modifiers, or the other unknown text.
        line: line of the PTX text, from 1; None where it has none.
    """

    def __init__(self, opcode: str, line: Optional[int] = None, why: str = ""):
        self.opcode, self.line, self.why = opcode, line, why
        at = "" if line is None else f" (line {line} of the PTX)"
        reason = f": {why}" if why else ""
        super().__init__(
            f"the PTX machine does not know {opcode}{at}{reason}; run this case on a device instead"
        )


class _AtPlace(PTXError):
    def __init__(self, message: str, place: str = "", line: Line = None, instruction: str = ""):
        self.place, self.line, self.instruction = place, line, instruction
        super().__init__(message)


class Fault(_AtPlace):
    """An access that a GPU would not survive, or should not.

    Attributes:
        kind: "out-of-bounds", "out-of-window", "misaligned", "deadlock" …
        space: "global", "shared", "local" …
        address: the first address at fault, in bytes.
        program_id: the (x, y, z) of the CTA.
        thread: index of the thread in its CTA.
        line: (file, line) of the kernel's source, None without a `.loc`.
        instruction: the PTX text.
        nearest: name of the window that lies nearest, and how far it is.
    """

    def __init__(self, kind, what, *, space="", address=None, program_id=None, thread=None,
                 line=None, instruction="", nearest=""):  # fmt: skip
        self.kind, self.space, self.address = kind, space, address
        self.program_id, self.thread, self.nearest = program_id, thread, nearest
        parts = [f"{kind}: {what}"]
        if address is not None:
            parts.append(f"at {space or 'global'} address {address:#x}")
        if nearest:
            parts.append(nearest)
        if program_id is not None:
            parts.append(f"program {tuple(program_id)}, thread {thread}")
        if line is not None:
            parts.append(f"{line[0]}:{line[1]}")
        if instruction:
            parts.append(f"`{instruction}`")
        super().__init__(", ".join(parts), place="", line=line, instruction=instruction)


class Deadlock(_AtPlace):
    """All threads wait and nothing can release them. `place` says where."""


class OutOfTime(_AtPlace):
    """A limit of time or instructions is used up. `place` says where."""
