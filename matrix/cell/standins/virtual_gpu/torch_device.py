"""Torch's properties of a virtual GPU, from the target's table; virtual_torch returns them."""

from types import SimpleNamespace
from typing import Any

from .limits import Target

# The value of torch.version.hip in a build for ROCm; libraries only ask whether it is None.
HIP_VERSION = "6.4.0"
# A library may divide its work by the memory of the device.
_MEMORY = 64 << 30
# Of an H100; libraries size the buffer that they clear between timings by it.
_L2 = 50 << 20


def properties_of(target: Target) -> Any:
    """Return the `torch.cuda.get_device_properties` of `target`; bytes, 32-bit registers."""
    if isinstance(target.arch, int):
        major, minor = divmod(target.arch, 10)
    else:
        # gfx942 is 9.4 with a stepping of 2, gfx1100 is 11.0.
        major, minor = int(target.arch[3:-2]), int(target.arch[-2])
    return SimpleNamespace(
        name="NVIDIA H100" if target.name == "sm_90" else f"virtual {target.name}",
        major=major,
        minor=minor,
        multi_processor_count=target.multiprocessors,
        total_memory=_MEMORY,
        warp_size=target.warp_size,
        max_threads_per_block=target.max_threads_per_block,
        max_threads_per_multi_processor=target.threads_per_multiprocessor,
        L2_cache_size=_L2,
        is_integrated=False,
        is_multi_gpu_board=False,
        shared_memory_per_block=min(target.shared_memory_optin, 49152),
        shared_memory_per_block_optin=target.shared_memory_optin,
        regs_per_multiprocessor=target.registers_per_block,
        gcnArchName="" if target.backend == "cuda" else str(target.arch),
    )
