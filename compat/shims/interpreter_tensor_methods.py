"""The interpreter calls the mathematical methods of tensors (``x.exp()``, ``x.abs()``) without its builder."""

import functools
import types
from typing import Any, Callable

from ..acts import note_acted
from ..interpreter import once_imported
from ..record import Patches, Shim, inner
from ..tracing import MARK


@once_imported
def apply(patches: Patches, interpreter: Any) -> None:
    import triton.language as tl

    # Breakpoint: Triton 3.9 marks it; delete with the last column before it.
    for name, method in list(vars(tl.tensor).items()):
        function = vars(tl).get(name)
        # A method that the interpreter has wrapped already is marked.
        own = inner(method) or method
        if isinstance(own, types.FunctionType) and not getattr(own, MARK, False):
            if isinstance(function, types.FunctionType):
                patches.set(tl.tensor, name, _noting(function))


def _noting(function: Callable) -> Callable:
    @functools.wraps(function)
    def method(*args, **kwargs):
        note_acted(SHIM.name)
        return function(*args, **kwargs)

    return method


SHIM = Shim(
    name="interpreter_tensor_methods",
    issue="interpreter-tensor-methods",
    tier="interpreter",
    window=">=3.0,<3.9",
    symptom="'NoneType' object has no attribute 'create_exp'",
    link="https://github.com/triton-lang/triton/blob/release/3.3.x/python/triton/language/math.py",
    delete_when="no column of Triton 3.0 to 3.8 is left",
    apply=apply,
)
