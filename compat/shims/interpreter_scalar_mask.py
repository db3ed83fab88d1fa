"""Triton 3.9's interpreter takes only bools for a mask, and makes integers of a comparison of scalars that joins one.

``(cols < n) & (row < rows)``: the right side is a bool with the type of what was compared, and is spread over the block
as 32-bit integers; so is what comes of the two. Before 3.9 such a mask was taken.
"""

from typing import Any

from ..acts import note_acted
from ..interpreter import once_imported
from ..record import Patches, Shim


@once_imported
def apply(patches: Patches, interpreter: Any) -> None:
    builder, tl = interpreter.InterpreterBuilder, interpreter.tl
    splat = builder.create_splat

    # Breakpoint: delete when comparisons of scalars are of type int1 in the interpreter.
    def splat_of_its_own_type(self, ret_ty, arg):
        if arg.data.dtype == bool and arg.dtype != tl.int1:
            note_acted(SHIM.name)
            arg = interpreter.TensorHandle(arg.data, tl.int1)
        return splat(self, ret_ty, arg)

    patches.set(builder, "create_splat", splat_of_its_own_type)


SHIM = Shim(
    name="interpreter_scalar_mask",
    issue="interpreter-scalar-mask",
    tier="interpreter",
    window=">=3.9",
    symptom="TRITON_INTERPRET=1: ValueError: mask has unsupported dtype",
    link="https://github.com/triton-lang/triton/blob/v3.9.0/python/triton/runtime/interpreter.py",
    delete_when="a Triton is out whose interpreter compares scalars to int1, and no column before it is left",
    apply=apply,
)
