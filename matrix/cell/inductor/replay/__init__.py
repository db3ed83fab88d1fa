"""What inductor wrote, as kernels of a suite: any Triton compiles them, and the lane emulate executes them.

A case of the lane compile is one kernel in one configuration, launched as the program launches it. A case of the lane
emulate is one graph with all its launches, against what torch computed of it.
"""

from .suite import kernel

__all__ = ["kernel"]
