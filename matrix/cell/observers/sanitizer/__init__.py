"""The sanitizer: detects faults of a kernel that its numbers need not show, while the PTX emulator executes it.

    x = np.zeros(1024, np.float32)
    tensors = [sanitizer.Tensor.of_array(x, "x", parameter=0)]
    found = sanitizer.run(text, grid=(8,), arguments=[x.ctypes.data, 1024], tensors=tensors)
    for finding in found:
        print(finding)

One file a detector: bounds, uninitialised, global_races, shared_races, shared_uninitialised, waits, accumulators,
dependent, divergence, order. AMD's code has separate detectors in `amd` and `amd_lds`. docs/sanitizer.md says what each
of them proves, and what it cannot see.
"""

from .amd import hands_out as hands_out_amd
from .amd import run as run_amd
from .findings import Finding
from .order import hands_out
from .tensors import Tensor
from .uninitialised import Allocations, Unwritten
from .watching import Watching, run, watching

__all__ = [
    "Allocations",
    "Finding",
    "Tensor",
    "Unwritten",
    "Watching",
    "hands_out",
    "hands_out_amd",
    "run",
    "run_amd",
    "watching",
]
