"""``while tl.condition(…)`` never ends in Triton's interpreter before 3.9.

The interpreter runs the kernel as Python, to which the wrapper of a loop's condition is an object like any other: true.
"""

from typing import Any

from ..acts import note_acted
from ..interpreter import once_imported
from ..record import Patches, Shim


@once_imported
def apply(patches: Patches, interpreter: Any) -> None:
    # Breakpoint: Triton 3.9 asks what is wrapped; delete with the last column before it.
    def holds(self: Any) -> bool:
        note_acted(SHIM.name)
        return bool(self.condition)

    patches.set(interpreter.tl.condition, "__bool__", holds)


SHIM = Shim(
    name="interpreter_condition",
    issue="interpreter-condition",
    tier="interpreter",
    window=">=3.5,<3.9",
    symptom="TRITON_INTERPRET=1: a kernel with while tl.condition(...) never ends",
    link="https://github.com/triton-lang/triton/issues/11402",
    delete_when="no column of Triton 3.5 to 3.8 is left",
    apply=apply,
)
