"""How a launch is bound: shared by the shims that change it."""

import inspect
from typing import Any, Collection, Dict, Mapping, Optional, Tuple

# A block on every GPU that Triton compiles for holds at most 1,024 threads (CUDA C++ Programming Guide, "Technical
# Specifications per Compute Capability"; HIP documentation, hipDeviceProp_t.maxThreadsPerBlock).
MAX_THREADS_PER_BLOCK = 1024


def by_position(
    signature: inspect.Signature, args: tuple, kwargs: Mapping[str, Any], reserved: Collection[str]
) -> Optional[Tuple[tuple, Dict[str, Any]]]:
    """The same call with the kernel's own parameters given by position.

    Keywords in `reserved` (launch options) that the kernel also declares are given both by position, for the kernel,
    and still by keyword, for the launch. None if the call does not bind: then let Triton say so in its own words.
    """
    declared = {name: value for name, value in kwargs.items() if name in signature.parameters}
    try:
        bound = signature.bind(*args, **declared)
    except TypeError:
        return None
    bound.apply_defaults()
    if bound.kwargs:
        return None
    rest = {
        name: value for name, value in kwargs.items() if name not in declared or name in reserved
    }
    return bound.args, rest


def warps_within(num_warps: int, warp_size: int, max_threads: int = MAX_THREADS_PER_BLOCK) -> int:
    """The largest power-of-two part of `num_warps` with which a block keeps to `max_threads` threads."""
    while num_warps > 1 and num_warps * warp_size > max_threads:
        num_warps //= 2
    return num_warps
