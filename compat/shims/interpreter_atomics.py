"""The interpreter before Triton 3.3 has no atomic addition of fp16."""

from typing import Any

from ..acts import note_acted
from ..interpreter import add_in_memory, has_type, once_imported
from ..record import Patches, Shim
from ..seams.attribute import around


@once_imported
def apply(patches: Patches, interpreter: Any) -> None:
    import triton.language as tl

    builder, np = interpreter.InterpreterBuilder, interpreter.np

    # Breakpoint: Triton 3.3 has it; delete with the last column before it.
    def add_halves(own, self, rmw_op, ptr, val, mask, sem, scope):
        if has_type(val, interpreter, tl.float16) and rmw_op == interpreter._ir.ATOMIC_OP.FADD:
            note_acted(SHIM.name)
            return add_in_memory(interpreter, ptr, val, mask, np.add)
        return own(self, rmw_op, ptr, val, mask, sem, scope)

    around(patches, builder, "create_atomic_rmw", add_halves)


SHIM = Shim(
    name="interpreter_atomics",
    issue="interpreter-atomics",
    tier="interpreter",
    window=">=3.0,<3.3",
    symptom="InterpreterError: ValueError('Unsupported data type')",
    link="https://github.com/triton-lang/triton/issues/4992",
    delete_when="no column before Triton 3.3 is left",
    apply=apply,
)
