"""Triton 2.3.1 loads this file by its path in place of the launcher that it would build in C, and calls `launch`."""

from crosswarp.matrix.cell.standins.virtual_gpu.launching import launch_before_3_0 as launch

__all__ = ["launch"]
