"""Triton 3.2's autotuner passes options on that its interpreter takes for parameters of the kernel."""

from typing import Any

from ..acts import note_acted
from ..interpreter import once_imported
from ..record import Patches, Shim
from ..seams.attribute import around

OPTIONS = (
    "num_buffers_warp_spec",
    "num_consumer_groups",
    "reg_dec_producer",
    "reg_inc_consumer",
)


@once_imported
def apply(patches: Patches, interpreter: Any) -> None:
    # Breakpoint: Triton 3.3; delete with the 3.2 column.
    def call_without_options(call, self, *args, **kwargs):
        dropped = [name for name in OPTIONS if name in kwargs and name not in self.arg_names]
        if dropped:
            note_acted(SHIM.name)
            kwargs = {name: value for name, value in kwargs.items() if name not in dropped}
        return call(self, *args, **kwargs)

    around(patches, interpreter.GridExecutor, "__call__", call_without_options)


SHIM = Shim(
    name="interpreter_config_options",
    issue="interpreter-config-options",
    tier="interpreter",
    window="==3.2.*",
    symptom="got an unexpected keyword argument 'num_buffers_warp_spec'",
    link="https://github.com/triton-lang/triton/issues/5164",
    delete_when="no column of Triton 3.2 is left",
    apply=apply,
)
