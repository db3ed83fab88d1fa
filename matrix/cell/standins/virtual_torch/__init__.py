"""torch.cuda on a CPU: tensors stay on the CPU and claim to be on a GPU, for code that says ``device="cuda"``.

    patches = virtual_torch.install(target, zeroed=True)
    ...
    patches.undo()

All replacements are in one table (`table.ROWS`), each row with its reason. Plain replacement is the one mapping that
worked on every torch from 2.3 to 2.15: a `TorchFunctionMode` is off inside `Function.backward`, a `FakeTensor` has no
backward through a kernel, and `PrivateUse1` refuses the name "cuda".

Known lies: every CPU tensor claims the GPU, also one that a test made for the CPU on purpose; `x.cuda()` is `x`.
"""

from crosswarp.compat.record import Patches
from crosswarp.matrix.cell.standins.virtual_gpu import Target

from .errors import NotOnVirtualGPU

__all__ = ["NotOnVirtualGPU", "install"]


def install(target: Target, zeroed: bool = False) -> Patches:
    """Map torch's GPU onto the CPU, with the properties of `target`; the returned object undoes it.

    Install it before the code that uses torch is imported: names that were imported from torch earlier stay torch's.

    Args:
        zeroed: fill the results of `torch.empty` and its like. If kernels compute nothing, their outputs are still
            read later: zeros are safe as indices, and are no NaN.
    """
    from .table import apply

    return apply(target, zeroed)
