"""A Python float given to a kernel is fp32 to the compiler and a Python float to the interpreter.

So ``x * factor`` with x in fp16 or bf16 is rounded to 16 bits in the interpreter only, and computed from a factor of
64 bits.
"""

from typing import Any

from ..acts import note_acted
from ..interpreter import once_imported
from ..record import Patches, Shim


@once_imported
def apply(patches: Patches, interpreter: Any) -> None:
    import triton.language as tl

    np, convert = interpreter.np, interpreter._implicit_cvt

    # Breakpoint: when the interpreter makes tensors of float arguments; delete with the last column before that.
    def convert_floats(arg):
        if not isinstance(arg, float):
            return convert(arg)
        note_acted(SHIM.name)
        with np.errstate(over="ignore"):
            handle = interpreter.TensorHandle(np.array([arg]).astype(np.float32), tl.float32)
        return tl.tensor(handle, tl.float32)

    patches.set(interpreter, "_implicit_cvt", convert_floats)


SHIM = Shim(
    name="interpreter_float_arguments",
    issue="interpreter-float-arguments",
    tier="interpreter",
    window=">=3.2",
    symptom="TRITON_INTERPRET=1: a product with a float argument is rounded to fp16 or bf16",
    link="https://github.com/triton-lang/triton/issues/5965",
    delete_when="Triton's interpreter makes fp32 tensors of float arguments, and no column before that is left",
    apply=apply,
)
