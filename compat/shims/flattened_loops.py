"""A flattened loop runs the loop inside it once where that has no turn, because its bounds come in the wrong order.

``tl.range(..., flatten=True)`` makes one loop of two, in which each turn of the outer one takes as many turns as the
inner one has, by ``high - low``: fewer than none where ``low`` is above ``high``. Python's meaning is none. In a kernel
that flattens, every loop now ends at the greater of its two bounds; one whose bounds are equal is right anyway.

Cost: one comparison before a loop, none where both bounds are known when the kernel is compiled. Other kernels become
what they were. What was compiled without the shim may be wrong and is not taken from Triton's cache.
"""

from __future__ import annotations

from typing import Any, Callable

from ..acts import note_acted
from ..patterns import lazily
from ..reachable import source_says
from ..record import Concerned, Patches, Shim
from ..seams.attribute import around_traced

# If the option's name comes from elsewhere (`tl.range(*given)`), it is in the source of the caller.
_FLATTENS = lazily(r"\bflatten\b")


def apply(patches: Patches) -> None:
    # Breakpoint: fixed in 3.9 by #11607 and #11688.
    from triton._C.libtriton import ir

    around_traced(patches, ir.builder, "create_for_op", create_for_op_in_order)


def create_for_op_in_order(
    create_for_op: Callable[..., Any], self: Any, low: Any, high: Any, *args: Any, **kwargs: Any
) -> Any:
    """The loop, made to end no earlier than it begins; called only for kernels that use flatten."""
    note_acted(SHIM.name)
    # Compared as scf.for does, whatever the counter's type.
    high = self.create_maxsi(low, high)
    return create_for_op(self, low, high, *args, **kwargs)


SHIM = Shim(
    name="flattened_loops",
    issue="triton-11740",
    tier="silent",
    window=">=3.3,<3.9",
    symptom="wrong numbers from a loop inside tl.range(..., flatten=True) whose lower bound is above the upper one",
    link="https://github.com/triton-lang/triton/pull/11740",
    delete_when="no column before 3.9 is left",
    apply=apply,
    revision=1,
    concerns=Concerned(source_says(_FLATTENS)),
)
