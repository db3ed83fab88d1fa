"""`tl.dot` that adds to an int32, float16 or float64 accumulator is refused unless the type is said once more.

``tl.dot(a, b, acc)`` of int8 into int32: the frontend of Triton 3.5 to 3.7 wants the accumulator to be of the type that
``out_dtype`` says, and that says float32 where nobody gave it. From 3.8 on the accumulator's own type is meant. So it
is here, where the operands can be added up in that type.

Cost: none outside of what these releases refuse.
"""

import functools
import inspect
from typing import Any, List

from .. import interpreter
from ..acts import note_acted
from ..record import Patches, Shim
from ..seams.trace import before_first_trace


def apply(patches: Patches) -> None:
    # Triton imports the replaced functions when it first compiles, or interprets.
    fixed: List[bool] = []

    def fix(*_: Any) -> None:
        if not fixed:
            fixed.append(True)
            _fix(patches)

    before_first_trace(patches, fix)
    if not interpreter.waits(patches, fix):
        fix()


def _fix(patches: Patches) -> None:
    # Breakpoint: Triton 3.8 takes the accumulator's type.
    import triton.language as tl
    from triton.language.semantic import TritonSemantic

    dot = TritonSemantic.dot
    # fbtriton 3.7.4 takes three arguments more.
    signature = inspect.signature(dot)

    @functools.wraps(dot)
    def dot_into_its_accumulator(*args: Any, **kwargs: Any) -> Any:
        given = signature.bind(*args, **kwargs)
        acc, lhs = given.arguments["acc"], given.arguments["lhs"]
        wanted = given.arguments.get("out_dtype")
        if acc is not None and wanted == tl.float32 and acc.dtype in _sums(lhs.dtype):
            note_acted(SHIM.name)
            given.arguments["out_dtype"] = acc.dtype
        return dot(*given.args, **given.kwargs)

    def _sums(operands: Any) -> Any:
        """Whether it differs from float32, the type in which products of such operands are added up."""
        if operands == tl.int8:
            return (tl.int32,)
        if operands == tl.float64:
            return (tl.float64,)
        return (tl.float16,) if operands == tl.float16 or operands.is_fp8() else ()

    patches.set(TritonSemantic, "dot", dot_into_its_accumulator)


SHIM = Shim(
    name="dot_accumulator",
    issue="triton-10341",
    tier="refused",
    window=">=3.5,<3.8",
    symptom="AssertionError without a word from a tl.dot that adds to an int32 accumulator",
    link="https://github.com/triton-lang/triton/issues/10341",
    delete_when="no column of Triton 3.5 to 3.7 is left",
    apply=apply,
)
