"""``tl.sort`` of floats is wrong where a zero has a negative sign, or an element is infinite, before Triton 3.4.

To compare two neighbours it multiplies each by one or zero and adds them up: infinity by zero is NaN, and of -0.0 the
sign is gone, which the exchange, bit by bit, then gives to the neighbour: 5 becomes -5.

Here floats are sorted as whole numbers of the same order, which are exact: negative zeros lie ahead of positive ones,
NaNs behind infinity, or ahead of the negative one by their own sign.

Cost: a few bitwise operations for each element, before and after. Integers are sorted as they were; kernels that sort
are compiled once more, under a separate key.
"""

from ..acts import note_acted
from ..patterns import lazily
from ..reachable import source_says
from ..record import Concerned, Patches, Shim
from ..tracing import builtin, value

_SORTS = lazily(r"\bsort\b")


def apply(patches: Patches) -> None:
    # Breakpoint: Triton 3.4 exchanges bits without adding floats up.
    import triton.language as tl

    own = tl.sort

    def sort(x, dim=None, descending=False, _builder=None, _generator=None):
        if _generator is None:
            # The interpreter, which sorts as it did.
            return own(x, dim, descending)
        function, given = own, [x, value(dim), int(value(descending))]
        width = x.type.scalar.primitive_bitwidth
        if x.type.scalar.is_floating() and width in (16, 32, 64):
            from .. import sorting

            note_acted(SHIM.name)
            function = sorting.sort_by_bits
            given += [width, 2 ** (width - 1) - 1]
        return _generator.call_JitFunction(function, given, {})

    for owner in (tl, tl.tensor):
        patches.set(owner, "sort", builtin(sort))


SHIM = Shim(
    name="sorted_floats",
    issue="triton-5999",
    tier="silent",
    window=">=2.3,<3.4",
    symptom="tl.sort gives NaN where an element is infinite, or turns a sign beside a negative zero",
    link="https://github.com/triton-lang/triton/issues/5999",
    delete_when="no column before Triton 3.4 is left",
    apply=apply,
    revision=1,
    concerns=Concerned(source_says(_SORTS)),
)
