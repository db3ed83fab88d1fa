"""The same for the interpreter (TRITON_INTERPRET=1), which drops launch options that a kernel declares until 3.3.0."""

import inspect
from typing import Any

from ..acts import note_acted
from ..interpreter import once_imported
from ..launch import by_position
from ..record import Patches, Shim
from ..seams.attribute import around


@once_imported
def apply(patches: Patches, interpreter: Any) -> None:
    reserved = frozenset(interpreter.RESERVED_KWS) - {"grid"}

    # Breakpoint: Triton 3.3 keeps the keywords that the kernel's signature holds; delete with the last column before
    # it.
    def call_binding_first(call, self, *args, **kwargs):
        signature = inspect.signature(self.fn)
        if reserved.intersection(kwargs, signature.parameters):
            bound = by_position(signature, args, kwargs, reserved)
            if bound is not None:
                note_acted(SHIM.name)
                args, kwargs = bound
        return call(self, *args, **kwargs)

    around(patches, interpreter.GridExecutor, "__call__", call_binding_first)


SHIM = Shim(
    name="interpreter_reserved_options",
    issue="interpreter-reserved-options",
    tier="interpreter",
    window="<3.3",
    symptom="missing 1 required positional argument: 'num_warps'",
    link="https://github.com/linkedin/Liger-Kernel/issues/215",
    delete_when="no column before Triton 3.3 is left",
    apply=apply,
)
