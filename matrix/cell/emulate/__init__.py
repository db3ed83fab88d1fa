"""The lane `emulate`: executes on the CPU the code that Triton compiled, and compares its numbers with PyTorch's.

A launch goes through the published JIT and compiler on the virtual GPU, as in the lane compile. Then an emulator of
`matrix/cell/machines` runs its PTX or AMD assembly on the case's inputs. Effects of ptxas and of the chip on that code
are not seen.
"""

from .configurations import EveryConfiguration
from .estimating import Estimates
from .machine import Machine
from .orders import in_other_orders
from .recall import Recall
from .writers import where_written

__all__ = [
    "Estimates",
    "EveryConfiguration",
    "Machine",
    "Recall",
    "in_other_orders",
    "where_written",
]
