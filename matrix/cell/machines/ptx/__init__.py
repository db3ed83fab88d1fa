"""The PTX emulator: executes Triton's compiled code on the CPU, with only numpy.

    program = ptx.load(text)
    memory = ptx.Memory()
    memory.add(tensor.data_ptr(), tensor.nbytes, "x")
    ptx.run(program, grid=(8,), arguments=[tensor.data_ptr(), 1024], memory=memory)

An unknown instruction raises `Unsupported` with its opcode; an access outside the windows is a `Fault`.
"""

from .errors import Deadlock, Fault, OutOfTime, PTXError, Unsupported
from .launch import Limits, Program, Result, load, run
from .memory import Memory
from .tensor_maps import tensor_map
from .watch import Watch, pass_on, several

__all__ = [
    "Deadlock",
    "Fault",
    "Limits",
    "Memory",
    "OutOfTime",
    "PTXError",
    "Program",
    "Result",
    "Unsupported",
    "Watch",
    "load",
    "pass_on",
    "run",
    "several",
    "tensor_map",
]
