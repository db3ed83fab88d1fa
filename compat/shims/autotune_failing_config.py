"""An autotuner drops a configuration that needs too much of the GPU, but ends with one that ptxas refuses.

From Triton 3.3 on both are dropped, and so is a failed ``tl.static_assert`` from 3.0 on.
"""

from ..acts import note_acted
from ..errors import say_once
from ..launch import TIMINGS, no_time
from ..record import Patches, Shim
from ..seams.attribute import around_call


def apply(patches: Patches) -> None:
    from triton.runtime.autotuner import Autotuner

    # Breakpoint: Triton 3.3 raises PTXASError and drops it; delete with the last column before it.
    def bench_surviving(bench, self, *args, config, **meta):
        try:
            return bench(self, *args, config=config, **meta)
        except Exception as error:
            if not _refused(error):
                raise
            note_acted(SHIM.name)
            name = getattr(getattr(self, "base_fn", self.fn), "__name__", "kernel")
            say_once(
                f"{name}: the autotuner dropped a configuration ({config}): {_last_line(error)}"
            )
            return no_time(self)

    around_call(patches, Autotuner, "_bench", bench_surviving, kind=TIMINGS)


def _refused(error: Exception) -> bool:
    """Whether the compiler refused this configuration with an error that later versions skip."""
    if type(error).__name__ == "CompileTimeAssertionFailure":
        return True
    return isinstance(error, RuntimeError) and "Internal Triton PTX codegen error" in str(error)


def _last_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    assembler_lines = [line for line in lines if "ptxas" in line or "assert" in line]
    return (assembler_lines or lines or [type(error).__name__])[0][:300]


SHIM = Shim(
    name="autotune_failing_config",
    issue="autotune-failing-config",
    tier="refused",
    window="<3.3",
    symptom="RuntimeError: Internal Triton PTX codegen error, raised by an autotuned kernel",
    link="https://github.com/state-spaces/mamba/issues/904",
    delete_when="no column before Triton 3.3 is left",
    apply=apply,
)
