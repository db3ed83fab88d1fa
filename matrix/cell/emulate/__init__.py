"""The lane `emulate`: what Triton compiled is executed on the CPU, and its numbers are compared with PyTorch's.

A launch goes through the published JIT and compiler on the virtual GPU, as in the lane compile; then its PTX, or AMD's
assembly, is run by an emulator of `matrix/cell/machines` on the case's own inputs. What ptxas and the chip do to that
code stays out of sight.
"""

from .configurations import EveryConfiguration
from .estimating import Estimates
from .machine import Machine
from .orders import in_other_orders
from .recall import Recall
from .writers import told

__all__ = ["Estimates", "EveryConfiguration", "Machine", "Recall", "in_other_orders", "told"]
