"""``num_stages=0`` on AMD, by which Triton before 3.2 was asked to pipeline loops.

Triton 3.2 and 3.3 refuse it with an assertion, whose advice is taken: 2 stages pipeline as 0 had done. In 3.4 and 3.5
a pass refuses it, of any kernel. From 3.6 on 0 compiles, and pipelines nothing. Cost: none.
"""

from typing import Any

from ..acts import note_acted
from ..record import Patches, Shim
from ..seams.attribute import around_call

# The value that the assertion's message recommends.
STAGES = 2


def apply(patches: Patches) -> None:
    # Breakpoint: Triton 3.6 compiles it; delete with the last column before it.
    from triton.backends import backends

    amd = backends["amd"].compiler

    def parse_options(parse: Any, self: Any, opts: Any) -> Any:
        options = parse(self, opts)
        if options.num_stages == 0:
            note_acted(SHIM.name)
            # Frozen, and other shims' options are in it as well.
            object.__setattr__(options, "num_stages", STAGES)
        return options

    around_call(patches, amd, "parse_options", parse_options)


SHIM = Shim(
    name="zero_stages",
    issue="pytorch-139182",
    tier="refused",
    window=">=3.2,<3.6",
    symptom="AssertionError: Triton AMD backend pipeliner has been updated;"
    " MLIR error: global prefetch control must be in [0, )",
    link="https://github.com/pytorch/pytorch/issues/139182",
    delete_when="no column before Triton 3.6 is left",
    apply=apply,
)
