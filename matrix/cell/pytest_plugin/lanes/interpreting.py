"""Lane interpret: Triton's interpreter computes the numbers, and the test judges them; nothing is compiled.

PYTEST_DONT_REWRITE
"""

import math
from typing import Any, Callable, List, Optional

from crosswarp.compat.record import Patches
from crosswarp.matrix.cell.pytest_plugin import outcomes
from crosswarp.matrix.cell.pytest_plugin.environ import set_until_undone

# Programs in one launch: the interpreter takes about a millisecond for each operation of each.
PROGRAMS = 4096


class Interpret:
    name = "interpret"
    done = "interpreted"
    judges_values = True
    too_slow = outcomes.RED
    proves = (
        "Triton's interpreter computed the numbers and the tests judged them; nothing was compiled"
    )

    def __init__(self) -> None:
        self._launches = 0
        self._kernels: set = set()
        # Why a launch was refused: the kernel is compiled whatever TRITON_INTERPRET says.
        self._refused: List[str] = []

    def before_import(self, patches: Patches) -> None:
        set_until_undone(patches, TRITON_INTERPRET="1")

    def start(self, target: Any, settings: Any, patches: Patches) -> None:
        import triton

        from crosswarp.compat.versions import in_window
        from crosswarp.matrix.cell.standins import virtual_gpu

        if in_window("<3.0", triton.__version__):
            msg = (
                f"the interpreter of Triton {triton.__version__} fails on most kernels: "
                "use --virtual-gpu-lane compile, or Triton 3.0 or newer"
            )
            raise RuntimeError(msg)
        # Libraries ask the driver which target this is, and Triton 3.2 asks it when it decorates.
        virtual_gpu.activate(target, patches)
        from crosswarp.matrix.cell.judging.interpreting import refuse_compiled

        self._refused = refuse_compiled(patches)
        self._count(patches)
        self._wrapped_kernels_as_they_are(patches)

    def in_child(self) -> None:
        from crosswarp.matrix.cell.judging.tuning import use_first_configuration

        use_first_configuration()
        self._refused.clear()

    def launches(self) -> int:
        return self._launches

    def ended(self) -> Optional[outcomes.Ended]:
        if self._refused:
            return outcomes.Ended(outcomes.UNSUPPORTED, self._refused[0])
        return None

    def left_out(self) -> int:
        return 0

    def depends_on_numbers(self, error: BaseException) -> Optional[str]:
        return None

    def kernels(self) -> List[str]:
        return sorted(self._kernels)

    def _count(self, patches: Patches) -> None:
        from triton.runtime import interpreter

        own = interpreter.GridExecutor.__call__

        def call(executor: Any, *args: Any, **kwargs: Any) -> Any:
            self._launches += 1
            name = getattr(executor.fn, "__name__", "a kernel")
            self._kernels.add(name)
            executor.grid = _capped(executor.grid, name)
            return own(executor, *args, **kwargs)

        patches.set(interpreter.GridExecutor, "__call__", call)

    def _wrapped_kernels_as_they_are(self, patches: Patches) -> None:
        """`torch.library.wrap_triton` takes compiled kernels alone; an interpreted one is launched as it is."""
        import torch

        if not hasattr(torch.library, "wrap_triton"):
            return
        import torch._library.triton as home

        for owner in (torch.library, home):
            patches.set(owner, "wrap_triton", lambda kernel: kernel)


def _capped(grid: Any, name: str) -> Callable:
    """The grid, which refuses to be larger than the interpreter can finish."""

    def asked(args: Any) -> Any:
        sizes = grid(args) if callable(grid) else grid
        if math.prod(sizes) > PROGRAMS:
            from crosswarp.matrix.cell.standins.virtual_torch import NotOnVirtualGPU

            msg = f"{name}: {math.prod(sizes)} programs in a launch; the interpreter runs {PROGRAMS} at most"
            raise NotOnVirtualGPU(msg)
        return sizes

    return asked
