"""A plain number of Python's before a constant of the kernel, on Triton before 3.4.

``x.dtype.primitive_bitwidth - 1`` and ``x.dtype.primitive_bitwidth == 16`` ask Python's int for an answer that only
Triton's constexpr has: what they get is NotImplemented. Here the number is made a constexpr first, as 3.4 does. Cost: a
look at the types of each operation while a kernel is traced.
"""

import functools
from typing import Any

from ..acts import note_acted
from ..record import Patches, Shim


def apply(patches: Patches) -> None:
    # Breakpoint: Triton 3.4 does this itself; delete with the last column before it.
    from triton.compiler.code_generator import CodeGenerator
    from triton.language import constexpr

    own = CodeGenerator._apply_binary_method

    @functools.wraps(own)
    def apply_binary_method(self: Any, method_name: str, lhs: Any, rhs: Any) -> Any:
        if type(lhs) in (int, float, bool) and isinstance(rhs, constexpr):
            note_acted(SHIM.name)
            lhs = constexpr(lhs)
        return own(self, method_name, lhs, rhs)

    patches.set(CodeGenerator, "_apply_binary_method", apply_binary_method)


SHIM = Shim(
    name="plain_operands",
    issue="plain-operands",
    tier="refused",
    window="<3.4",
    symptom="unsupported operand type(s) for <<: 'int' and 'NotImplementedType'",
    link="https://github.com/triton-lang/triton/blob/release/3.3.x/python/triton/compiler/code_generator.py",
    delete_when="no column before Triton 3.4 is left",
    apply=apply,
)
