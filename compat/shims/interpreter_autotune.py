"""An autotuner in the interpreter wants a GPU to measure time on; there is none to measure.

Every configuration means the same there, so the first that is not pruned is launched, and none is tried before it.
Decorating without a GPU, which Triton 3.2 and 3.3 refuse, is `autotune_needs_driver`'s.
"""

from typing import Any

from ..acts import note_acted
from ..interpreter import once_imported
from ..launch import TIMINGS
from ..record import Patches, Shim
from ..seams.attribute import around_call


# The autotuner serves compiled kernels too: it stays Triton's own where nothing is interpreted.
@once_imported
def apply(patches: Patches, interpreter: Any) -> None:
    from triton.runtime.autotuner import Autotuner

    # Breakpoint: when the interpreter's autotuner measures nothing; delete with the last column before that.
    def bench_nothing(bench, self, *args, config, **meta):
        if not _interpreted(self.fn):
            return bench(self, *args, config=config, **meta)
        note_acted(SHIM.name)
        return [0.0, 0.0, 0.0]

    around_call(patches, Autotuner, "_bench", bench_nothing, kind=TIMINGS)


def _interpreted(fn: Any) -> bool:
    """Whether the tuned function, below heuristics and the like, belongs to the interpreter."""
    from triton.runtime.interpreter import InterpretedFunction

    while fn is not None and not isinstance(fn, InterpretedFunction):
        fn = getattr(fn, "fn", None)
    return fn is not None


SHIM = Shim(
    name="interpreter_autotune",
    issue="interpreter-autotune",
    tier="interpreter",
    window=">=3.0",
    symptom="TRITON_INTERPRET=1 with triton.autotune: RuntimeError: 0 active drivers ([])",
    link="https://github.com/triton-lang/triton/pull/4496",
    delete_when="Triton's interpreter runs an autotuned kernel without a GPU, and no column before that is left",
    apply=apply,
)
