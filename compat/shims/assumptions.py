"""`tl.assume`, by which a kernel tells the compiler what always holds, on Triton before 3.2.

It is a hint: nothing is computed by it, so leaving it out is right. Cost: none but what the hint would have saved.
"""

from typing import Any

from ..acts import note_acted
from ..record import Patches, Shim
from ..tracing import builtin


def apply(patches: Patches) -> None:
    # Breakpoint: Triton 3.2 has it; delete with the last column before it.
    import triton.language as tl

    def assume(cond: Any, _builder: Any = None) -> None:
        note_acted(SHIM.name)

    for module in (tl, tl.core):
        patches.set(module, "assume", builtin(assume))


SHIM = Shim(
    name="assumptions",
    issue="triton-4396",
    tier="names",
    window="<3.2",
    symptom="module 'triton.language' has no attribute 'assume'",
    link="https://github.com/triton-lang/triton/pull/4396",
    delete_when="no column before Triton 3.2 is left",
    apply=apply,
)
