"""Way emulate: the PTX that was compiled is executed on the CPU, and the test judges its numbers.

PYTEST_DONT_REWRITE
"""

from typing import Any

from crosswarp.compat.record import Patches

from .compiling import Compile


class Emulate(Compile):
    name = "emulate"
    done = "emulated"
    judges_values = True
    proves = "the compiled code was executed by the emulator and the tests judged its numbers"

    def start(self, target: Any, settings: Any, patches: Patches) -> None:
        msg = "--virtual-gpu-way emulate is not built yet: use compile or interpret"
        raise RuntimeError(msg)
