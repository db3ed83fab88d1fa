"""Triton 3.2 and 3.3 ask the driver for a benchmark when a kernel is decorated: importing it fails without a GPU."""

from typing import Any

from ..acts import note_acted
from ..record import Patches, Shim
from ..seams.attribute import around_call


def apply(patches: Patches) -> None:
    from triton.runtime.autotuner import Autotuner

    # Breakpoint: Triton 3.4 asks when it first measures; delete with the 3.3 column.
    def init_without_driver(init, self, *args, **kwargs):
        try:
            init(self, *args, **kwargs)
        except RuntimeError as error:
            if "active drivers" not in str(error) or kwargs.get("do_bench") is not None:
                raise
            note_acted(SHIM.name)
            init(self, *args, **dict(kwargs, do_bench=_drivers_benchmark))

    around_call(patches, Autotuner, "__init__", init_without_driver)


def _drivers_benchmark(*args: Any, **kwargs: Any) -> Any:
    from triton.runtime import driver

    return driver.active.get_benchmarker()(*args, **kwargs)


SHIM = Shim(
    name="autotune_needs_driver",
    issue="autotune-needs-driver",
    tier="refused",
    window=">=3.2,<3.4",
    symptom="RuntimeError: 0 active drivers ([]). There should only be one.",
    link="https://github.com/triton-lang/triton/issues/6150",
    delete_when="no column of Triton 3.2 or 3.3 is left",
    apply=apply,
)
