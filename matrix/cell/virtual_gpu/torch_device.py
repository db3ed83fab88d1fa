"""What a library asks torch about the GPU, answered for the virtual one.

The kernels of our own suite ask torch nothing. A library does, before it launches: is there a device, how many
multiprocessors, which capability, is this tensor on it. Its tensors stay on the CPU, so each question is answered from
the target's table. Nothing here touches Triton, and nothing is computed: work that a library leaves to torch (a matrix
product beside its kernels) runs on the CPU, as it is.
"""

import contextlib
from types import SimpleNamespace
from typing import Any

from .launching import active_target
from .limits import Target

# What torch.version.hip holds in a build for ROCm; libraries only ask whether it is None.
HIP_VERSION = "6.4.0"
# A library may divide what it has to do by the memory of the device.
_MEMORY = 64 << 30
# Of an H100; libraries size the buffer that they clear between timings by it.
_L2 = 50 << 20


def stand_in() -> None:
    """Let torch in this process speak for the active target. There is no way back: call it in a forked child.

    Raises:
        IndexError: no virtual GPU is active.
    """
    import torch

    target = active_target()
    properties = properties_of(target)
    answers = {
        "is_available": lambda: True,
        "device_count": lambda: 1,
        "current_device": lambda: 0,
        "set_device": lambda device: None,
        "get_device_name": lambda device=None: properties.name,
        "get_device_capability": lambda device=None: (properties.major, properties.minor),
        "get_device_properties": lambda device=None: properties,
        "current_stream": lambda device=None: SimpleNamespace(cuda_stream=0),
        "synchronize": lambda device=None: None,
        "device": _on_device,
        "device_of": _on_device,
    }
    for name, answer in answers.items():
        setattr(torch.cuda, name, answer)
    # Only the answer changes: storage, dispatch and `device` are those of the CPU.
    torch.Tensor.is_cuda = property(lambda tensor: True)  # type: ignore[assignment,method-assign]
    if target.backend == "hip":
        torch.version.hip = HIP_VERSION  # type: ignore[assignment]


def properties_of(target: Target) -> Any:
    """What `torch.cuda.get_device_properties` says of `target`; bytes, 32-bit registers."""
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


class _on_device(contextlib.ContextDecorator):
    """`torch.cuda.device(...)`: there is only one."""

    def __init__(self, device: Any = None):
        self.idx = 0

    def __enter__(self) -> "_on_device":
        return self

    def __exit__(self, *error: Any) -> None:
        pass
