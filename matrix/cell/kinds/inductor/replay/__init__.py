"""Inductor's output as kernels of a suite: any Triton compiles them, and the lane emulate executes them.

A case of the lane compile is one kernel in one configuration, launched as the program launches it. A case of the lane
emulate is one graph with all its launches, compared with torch's result.
"""

from typing import Any


def kernel(program: str, root: str, configurations: int = 0) -> Any:
    """As `suite.kernel`. Imported where it is called: the host reads this room's names without torch."""
    from .suite import kernel

    return kernel(program, root, configurations)
