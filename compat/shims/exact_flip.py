"""``tl.flip`` flips the last dimension alone before Triton 3.4, and floats by sums before 3.3.

Up to 3.2 each step multiplies by one and by zero and adds up: infinity by zero is NaN, which its neighbour becomes,
without a word; and of bfloat16 it makes float32, which ``tl.join`` with what is not flipped does not survive.

Here the bits are exchanged, as Triton 3.4 does, along any dimension; what is flipped keeps its type.

Cost: not measured; the exchanges are those of Triton 3.4. Kernels that flip are compiled once more,
under a separate key.
"""

from typing import Any

from ..acts import note_acted
from ..patterns import lazily
from ..reachable import source_says
from ..record import Concerned, Patches, Shim
from ..tracing import builtin, value, values

_FLIPS = lazily(r"\bflip\b")


def apply(patches: Patches) -> None:
    # Breakpoint: Triton 3.4 exchanges bits, along any dimension.
    import triton.language as tl

    own = tl.flip

    def flip(x, dim=None, _builder=None, _generator=None):
        shape, dim = values(x.shape), value(dim)
        dim = len(shape) - 1 if dim is None else dim
        function, given = own, [dim]
        if -len(shape) <= dim < len(shape) and _exchanges(shape[dim], x.type.scalar):
            from ..flipping import flip_by_bits

            note_acted(SHIM.name)
            dim %= len(shape)
            steps = shape[dim].bit_length() - 1
            halves = (*shape[:dim], *[2] * steps, *shape[dim + 1 :])
            function = flip_by_bits
            given = [tuple(shape), halves, dim, steps, x.type.scalar.primitive_bitwidth]
        if _generator is None:
            # The interpreter.
            return function(x, *given)
        return _generator.call_JitFunction(function, [x, *map(tl.constexpr, given)], {})

    for owner in (tl, tl.tensor):
        patches.set(owner, "flip", builtin(flip))


def _exchanges(length: int, scalar: Any) -> bool:
    """Whether the shim applies: the rest raises Triton's own errors, and conditions are flipped as before."""
    return length & (length - 1) == 0 and scalar.primitive_bitwidth >= 8 and not scalar.is_ptr()


SHIM = Shim(
    name="exact_flip",
    issue="triton-5439",
    tier="silent",
    window=">=3.0,<3.4",
    symptom="NaN from a tl.flip of infinity; Currently only support flipping the last dimension",
    link="https://github.com/triton-lang/triton/issues/5439",
    delete_when="no column of Triton 3.0 to 3.3 is left",
    apply=apply,
    revision=1,
    concerns=Concerned(source_says(_FLIPS)),
)
