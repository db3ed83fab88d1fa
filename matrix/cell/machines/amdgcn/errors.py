"""The errors of an AMD program: those of every emulator, and its own messages for unknown instructions."""

from typing import Optional

from crosswarp.matrix.cell.machines.ptx import errors as common
from crosswarp.matrix.cell.machines.ptx.errors import Deadlock, Fault, OutOfTime

__all__ = ["AMDError", "Deadlock", "Fault", "OutOfTime", "Unknown", "Unsupported"]

AMDError = common.PTXError


class Unsupported(common.Unsupported):
    """The emulator does not know an instruction, or a form of it.

    Attributes:
        opcode: the instruction's name, or the directive.
        line: line of the assembly text, from 1; None where it has none.
    """

    def __init__(self, opcode: str, line: Optional[int] = None, why: str = ""):
        super().__init__(opcode, line, why)
        at = "" if line is None else f" (line {line} of the assembly)"
        reason = f": {why}" if why else ""
        self.args = (
            f"the emulator of AMD's code does not know {opcode}{at}{reason}; run this case on a device instead",
        )


class Unknown(Exception):
    """A form that a family of instructions does not know; the lowering adds opcode and line."""
