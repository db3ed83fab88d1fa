"""`tl.gather` and the method `gather` of a tensor, on Triton before 3.3, which have neither.

It is built of a comparison with every place along the axis (`compat/gathering.py`).

Cost: as many elements as the result has times the length of the axis, where Triton 3.3 moves each element once: little
for a row of 16, much for a tile of 64 × 64. A library that asks `hasattr(tl, "gather")` takes its path with one;
`install(exclude=["gather"])` leaves it the other.
"""

import functools

from ..acts import note_acted
from ..patterns import lazily
from ..reachable import source_says
from ..record import Concerned, Patches, Shim
from ..tracing import builtin

_GATHER = lazily(r"\bgather\b")


def apply(patches: Patches) -> None:
    # Breakpoint: Triton 3.3 has it.
    import triton.language as tl

    from .. import gathering

    @functools.wraps(gathering.gather)
    def gather(src, index, axis, _builder=None, _generator=None):
        note_acted(SHIM.name)
        return gathering.gather(src, index, axis, _builder=_builder, _generator=_generator)

    for owner in (tl, tl.core, tl.core.tensor):
        patches.set(owner, "gather", builtin(gather))


SHIM = Shim(
    name="gather",
    issue="triton-5479",
    tier="names",
    window="<3.3",
    symptom="module 'triton.language' has no attribute 'gather'",
    link="https://github.com/triton-lang/triton/pull/5479",
    delete_when="no column before Triton 3.3 is left",
    apply=apply,
    revision=1,
    concerns=Concerned(source_says(_GATHER), surely=True),
)
