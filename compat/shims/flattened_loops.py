"""A flattened loop runs the loop inside it once where that has no turn, because its bounds come in the wrong order.

``tl.range(..., flatten=True)`` makes one loop of two, in which each turn of the outer one takes as many turns as the
inner one has, by ``high - low``: fewer than none where ``low`` is above ``high``. Python's meaning is none. In a kernel
that flattens, every loop now ends at the greater of its two bounds; one whose bounds are equal is right anyway.

Cost: one comparison before a loop, none where both bounds are known when the kernel is compiled. Other kernels become
what they were. What was compiled without the shim may be wrong and is not taken from Triton's cache.
"""

import functools
import re
import threading
from typing import Any

from ..acts import note_acted
from ..code_generator import key_with_revision, reachable, revision_of, source_says
from ..record import Patches, Shim

# Where the option's name comes from elsewhere (`tl.range(*given)`), it is in the source of whoever gives it.
_FLATTENS = re.compile(r"\bflatten\b")


class _State(threading.local):
    flattens = False


_state = _State()


def apply(patches: Patches) -> None:
    # Symptom: wrong numbers without an error: the inner loop's body is run in each turn of the outer one.
    # Window: Triton 3.3, which brought flatten, to 3.8. Compiled kernels on every target; the interpreter is right.
    # Link: triton-lang/triton#11740. Breakpoint: mended for 3.9 by #11607 and #11688.
    from triton._C.libtriton import ir
    from triton.compiler.compiler import ASTSource

    make_ir, create_for_op = ASTSource.make_ir, ir.builder.create_for_op

    @functools.wraps(make_ir)
    def make_ir_noting(self: Any, *args: Any, **kwargs: Any) -> Any:
        given = [getattr(self, "fn", None), *getattr(self, "constants", {}).values()]
        try:
            _state.flattens = source_says(_FLATTENS)(reachable(given))
        except (AttributeError, ImportError):
            # A Triton that has moved what this asks: in doubt every loop ends no earlier than it begins.
            _state.flattens = True
        try:
            return make_ir(self, *args, **kwargs)
        finally:
            _state.flattens = False

    @functools.wraps(create_for_op)
    def create_for_op_in_order(self: Any, low: Any, high: Any, *args: Any, **kwargs: Any) -> Any:
        if _state.flattens:
            note_acted(SHIM.name)
            # As scf.for compares them, whatever the type of the counter says.
            high = self.create_maxsi(low, high)
        return create_for_op(self, low, high, *args, **kwargs)

    patches.set(ASTSource, "make_ir", make_ir_noting)
    patches.set(ir.builder, "create_for_op", create_for_op_in_order)
    key_with_revision(patches, source_says(_FLATTENS), functools.partial(revision_of, __file__))


SHIM = Shim(
    name="flattened_loops",
    issue="triton-11740",
    tier="silent",
    window=">=3.3,<3.9",
    symptom="wrong numbers from a loop inside tl.range(..., flatten=True) whose lower bound is above the upper one",
    link="https://github.com/triton-lang/triton/pull/11740",
    delete_when="no column before 3.9 is left",
    apply=apply,
)
