"""The result of ``tl.histogram`` cannot be handed on by a loop, nor be reduced with its places, on Triton 3.0 and 3.1.

Its shape is a tuple there, where that of every other tensor is a list, and the two are held to be different.
"""

import functools
from typing import Any

from ..acts import note_acted
from ..record import Patches, Shim


def apply(patches: Patches) -> None:
    # Breakpoint: Triton 3.2 makes shapes of one kind of all that it is given.
    import triton.language as tl
    from triton.language import semantic

    histogram = semantic.histogram

    @functools.wraps(histogram)
    def of_listed_shape(*arguments: Any, **named: Any) -> Any:
        counts = histogram(*arguments, **named)
        note_acted(SHIM.name)
        return tl.tensor(counts.handle, tl.block_type(counts.dtype, list(counts.type.shape)))

    patches.set(semantic, "histogram", of_listed_shape)


SHIM = Shim(
    name="histogram_shape",
    issue="triton-4860",
    tier="refused",
    window=">=3.0,<3.2",
    symptom="has initial type <(16,), int32> but is re-assigned to <[16], int32> in loop, of what tl.histogram made",
    link="https://github.com/triton-lang/triton/issues/4860",
    delete_when="no column before Triton 3.2 is left",
    apply=apply,
)
