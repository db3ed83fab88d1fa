"""An emulator of AMD's compiled code: it executes the assembly that Triton makes for CDNA and RDNA, with numpy alone.

    program = amdgcn.load(text)
    memory = amdgcn.Memory()
    memory.add(tensor.data_ptr(), tensor.nbytes, "x")
    amdgcn.run(program, grid=(8,), arguments=[tensor.data_ptr(), 1024], threads=256, memory=memory)

An opcode, modifier or directive that it does not know is `Unsupported` by its name; an access outside of the allowed
memory is a `Fault`. Loads land at the wait that the compiler placed, and not before: code that reads too early reads
poison.
"""

from .errors import AMDError, Deadlock, Fault, OutOfTime, Unsupported
from .launch import Limits, Memory, Program, Result, load, run
from .registers import POISON

__all__ = [
    "POISON",
    "AMDError",
    "Deadlock",
    "Fault",
    "Limits",
    "Memory",
    "OutOfTime",
    "Program",
    "Result",
    "Unsupported",
    "load",
    "run",
]
