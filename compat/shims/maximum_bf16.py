"""`tl.maximum` and `tl.minimum` of bfloat16 kill the compiler of Triton 2.3.

Its NVIDIA backend keeps bfloat16 as integers of 16 bits, of which LLVM finds no larger one. Here the two are compared
as float32 and the result is made bfloat16 again: it is one of the two, so nothing is rounded.

Cost: two conversions and one back, where Triton compiles nothing without the shim.
"""

from __future__ import annotations

import functools
from typing import Any, Callable

from ..acts import note_acted
from ..record import Patches, Shim
from ..tracing import builtin


def apply(patches: Patches) -> None:
    # Breakpoint: Triton 3.0 converts to float32 by itself.
    from triton.language import core, math

    for name in ("max", "min"):
        patches.set(math, name, _by_float32(core, getattr(math, name)))


def _by_float32(core: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def extreme(arg0: Any, arg1: Any, _builder: Any = None) -> Any:
        arg0, arg1 = core._to_tensor(arg0, _builder), core._to_tensor(arg1, _builder)
        arg0, arg1 = core.binary_op_type_legalization(arg0, arg1, _builder)
        if not arg0.dtype.is_bf16():
            return function(arg0, arg1, _builder=_builder)
        note_acted(SHIM.name)
        wide = [operand.to(core.float32, _builder=_builder) for operand in (arg0, arg1)]
        return function(*wide, _builder=_builder).to(core.bfloat16, _builder=_builder)

    return builtin(extreme)


SHIM = Shim(
    name="maximum_bf16",
    issue="triton-2677",
    tier="refused",
    window="<3.0",
    symptom="LLVM ERROR: Failed to translate TritonGPU to LLVM IR, from a tl.maximum of bfloat16",
    link="https://github.com/triton-lang/triton/pull/2677",
    delete_when="no column before Triton 3.0 is left",
    apply=apply,
)
