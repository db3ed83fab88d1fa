"""A GPU that is not there: every Triton from 2.3.1 on launches kernels on CPU tensors, compiles for real, runs nothing.

`activate(target)` puts a driver object in place of Triton's own. Everything above it is the published Triton:
signature binding, specialisation, autotuning, MLIR, LLVM, ptxas. A launch meets the limits of the target and is noted
in `launches`.
"""

from .activate import activate, contain, stop_before_assembling
from .launching import Launch, launches
from .limits import LaunchRefused, Target

__all__ = [
    "Launch", "LaunchRefused", "Target", "activate", "contain", "launches", "stop_before_assembling"
]  # fmt: skip
