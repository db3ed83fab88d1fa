"""A kernel that needs scratch memory, as for tensor descriptors, is refused until somebody has set an allocator.

The allocator belongs to a context (in Triton 3.6.0, not yet in 3.4.0): one that the main thread has set is not there
in the threads in which torch runs a backward pass. With the shim, where there is none, the memory comes from torch, on
the stream of the launch, so that it is reused in the order of that stream and may be captured in a CUDA graph. An
allocator that was set is used as before.
"""

from __future__ import annotations

import functools
from contextvars import ContextVar
from typing import Any, Optional

from ..acts import note_acted
from ..record import Patches, Shim

# Torch's caching allocator rounds each address to this, in bytes.
_TORCH_ALIGNMENT = 512


def apply(patches: Patches) -> None:
    from triton.runtime import _allocation

    # Breakpoint: none yet, 3.9.0 refuses. Delete when Triton allocates by itself.
    null = _allocation.NullAllocator
    refuse = null.__call__

    @functools.wraps(refuse)
    def allocate(self: Any, size: int, alignment: int, stream: Optional[int]) -> Any:
        if self is profiling:
            return refuse(self, size, alignment, stream)
        note_acted(SHIM.name)
        return scratch(size, alignment, stream)

    # A profiler reads its memory: without a profiler, Triton decides about it.
    profile = getattr(_allocation, "_profile_allocator", None)
    profiling = profile.get() if isinstance(profile, ContextVar) else None
    if profile is not None and profiling is None and isinstance(profile.get(), null):
        # Since 3.6 both are one object.
        profiling = null()
        patches.set(profile, "_allocator", profiling)
    patches.set(null, "__call__", allocate)


def scratch(size: int, alignment: int, stream: Optional[int]) -> Any:
    """`size` bytes on the current device, not initialised, as a tensor of int8 whose address is aligned.

    Args:
        size: bytes.
        alignment: of the address, in bytes.
        stream: the launch's stream as an address; None is torch's current one.
    """
    import torch
    from triton.runtime import driver

    device = driver.active.get_active_torch_device()
    surplus = alignment if alignment > _TORCH_ALIGNMENT else 0
    if device.type != "cuda" or stream in (None, torch.cuda.current_stream(device).cuda_stream):
        memory = torch.empty(size + surplus, dtype=torch.int8, device=device)
    else:
        with torch.cuda.stream(torch.cuda.ExternalStream(stream, device)):
            memory = torch.empty(size + surplus, dtype=torch.int8, device=device)
    return memory[-memory.data_ptr() % alignment :][:size] if surplus else memory


SHIM = Shim(
    name="default_allocator",
    issue="triton-10002",
    tier="refused",
    window=">=3.3",
    symptom="Kernel requires a runtime memory allocation, but no allocator was set",
    link="https://github.com/triton-lang/triton/pull/10002",
    delete_when="Triton allocates scratch memory by itself, and no column before that is left",
    apply=apply,
)
