"""A precision of `tl.dot` that the target lacks is refused by the compiler instead of being replaced by a better one.

``input_precision="tf32"`` compiles for NVIDIA's targets alone before Triton 3.3, and for gfx942 since. It asks for
speed at the price of digits; where there is no TF32, the product is computed in full precision, as it is by default.
The same goes for precisions of several passes (``tf32x3``, ``bf16x3``, ``bf16x6``).

Cost: none where the precision exists. Where it does not, Triton compiles nothing without the shim.
"""

import functools
from typing import Any

from ..acts import note_acted
from ..record import Patches, Shim
from ..seams.trace import before_first_trace

_LESS_THAN_FULL = ("tf32", "tf32x3", "bf16x3", "bf16x6")


def apply(patches: Patches) -> None:
    # Breakpoint: Triton 3.3 takes tf32 for gfx942, 3.6 bf16x3 and bf16x6 for all of AMD's. Link: NVlabs/Sana#508.
    # Triton's documentation lists each target's precisions, and calls it no fault.
    before_first_trace(patches, lambda code_generator: _fix(patches))


def _fix(patches: Patches) -> None:
    from triton.language import semantic

    # Breakpoint: from Triton 3.4 on the functions are methods.
    owner = getattr(semantic, "TritonSemantic", semantic)
    read = owner._str_to_dot_input_precision

    @functools.wraps(read)
    def read_or_replace(*args: Any, **kwargs: Any) -> Any:
        return read(*(_supported(value, args, kwargs) for value in args), **kwargs)

    patches.set(owner, "_str_to_dot_input_precision", read_or_replace)


def _supported(precision: Any, args: Any, kwargs: Any) -> Any:
    if not isinstance(precision, str) or precision.lower() not in _LESS_THAN_FULL:
        return precision
    given = [*args, *kwargs.values()]
    builder = next(
        (
            candidate
            for candidate in (getattr(x, "builder", x) for x in given)
            if hasattr(candidate, "options")
        ),
        None,
    )
    if builder is None or precision.lower() in builder.options.allowed_dot_input_precisions:
        return precision
    note_acted(SHIM.name)
    return "ieee"


SHIM = Shim(
    name="dot_precision",
    issue="sana-508",
    tier="names",
    window=">=3.0",
    symptom="input_precision must be one of ('ieee',). Got tf32",
    link="https://github.com/NVlabs/Sana/pull/508",
    delete_when="every target of the oldest column takes every precision",
    apply=apply,
)
