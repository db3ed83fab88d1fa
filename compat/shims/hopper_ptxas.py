"""Triton 3.6 to 3.8 assemble for Hopper with a ptxas whose optimiser gets some kernels wrong, without a word.

It is 12.8 in 3.6 and 3.7. Where it adds constants with different upper words to one 64-bit register, it reads a
register that nothing has written. These are descriptors of one address of shared memory under two layouts, so matmuls
are wrong. It is 12.9 in 3.8, which adds nothing where two packed additions of 16 bits add the same constant. Their
wheels hold a second ptxas, `ptxas-blackwell` (12.9 in 3.6, 13.1 in 3.7, 13.3 in 3.8), that Triton uses for newer GPUs
only and that knows Hopper as well: with it the same PTX gives right numbers. Triton 3.9 does so by itself.

It assembles the kernels alone whose PTX has that: of others it may make slower code, with more stack.
"""

from __future__ import annotations

import ctypes
import functools
import os
from typing import Any, Dict, Iterable, Optional, Tuple

from ..errors import say_once
from ..patterns import lazily
from ..reachable import source_says
from ..record import Concerned, OtherAssembler, Shim
from ..seams.ir import meant
from ..versions import in_window, numbers, triton_version

HOPPER = 90
WRONG = ((12, 8), (12, 9))

_DOTS = source_says(lazily(r"\bdot"))
# In the PTX: add.s64 %rd20, %rd36, -9223371899415822272;
_ADDED = lazily(r"add\.s64\s+%\w+, (%\w+), (-?\d+);")
_PACKED = lazily(r"\badd\.[su]16x2\b")


def concerned(reached: Iterable[Any]) -> bool:
    """Whether a kernel may have code that its Triton's ptxas gets wrong. With 3.8's any may, as all add integers."""
    return _DOTS(reached) or not _has_12_8()


def newer_ptxas(ptx: str) -> Optional[Any]:
    """The other ptxas of the wheel if Triton's own gets this PTX wrong; None if not, or if it cannot be used."""
    from triton import knobs

    # A ptxas that the user has chosen is kept.
    if meant().capability != HOPPER or os.environ.get("TRITON_PTXAS_PATH"):
        return None
    tool = knobs.nvidia.ptxas
    return _newer(tool) if gets_wrong(_version(tool), ptx) else None


def gets_wrong(version: Tuple[int, ...], ptx: str) -> bool:
    """Whether the optimiser of ptxas `version` may get this PTX wrong."""
    if version == WRONG[0]:
        return "wgmma" in ptx and _in_two_layouts(ptx)
    return version == WRONG[1] and len(_PACKED.findall(ptx)) > 1


def _in_two_layouts(ptx: str) -> bool:
    upper: Dict[str, int] = {}
    for register, constant in _ADDED.findall(ptx):
        word = int(constant) >> 32 & 0xFFFFFFFF
        # The others are distances.
        if word not in (0, 0xFFFFFFFF) and upper.setdefault(register, word) != word:
            return True
    return False


def _may_act(ir: str) -> bool:
    return "dot" in ir or not _has_12_8()


def _has_12_8() -> bool:
    return in_window("<3.8", triton_version())


def _newer(old: Any) -> Optional[Any]:
    """The other ptxas of the wheel; None if there is none, or this machine's driver cannot load its output."""
    from triton import knobs

    try:
        tool = knobs.nvidia.ptxas_blackwell
    except RuntimeError as error:
        say_once(
            f"ptxas {old.version} may miscompile for sm_90, and there is no other to take its place: {error}"
        )
        return None
    driver = _driver_version()
    if driver is not None and driver[0] < _version(tool)[0]:
        # ptxas 12.8 does not read the PTX that Triton 3.8 writes.
        hint = (
            "set TRITON_PTXAS_PATH to a ptxas 12.9"
            if _version(old) == WRONG[0]
            else f"a driver of CUDA {_version(tool)[0]} loads it"
        )
        say_once(
            f"ptxas {old.version} may miscompile for sm_90, and the driver (CUDA {driver[0]}.{driver[1]}) is too old"
            f" for what ptxas {tool.version} makes; {hint}"
        )
        return None
    return tool


def _version(tool: Any) -> Tuple[int, ...]:
    return numbers(tool.version)


@functools.lru_cache(maxsize=None)
def _driver_version() -> Optional[Tuple[int, int]]:
    """The CUDA version that this machine's driver supports; None without one, where nothing will be launched."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return None
    version = ctypes.c_int()
    if driver.cuDriverGetVersion(ctypes.byref(version)) != 0:
        return None
    return version.value // 1000, version.value % 1000 // 10


# See also triton-lang/triton#11581.
# Breakpoint: Triton 3.9 assembles for Hopper with the newer one; delete with the last column before it.
SHIM = Shim(
    name="hopper_ptxas",
    issue="masked-product",
    tier="silent",
    window=">=3.6,<3.9",
    symptom="wrong numbers on Hopper from a product of a masked, rounded product with 16 or 32 columns and four warps",
    link="https://github.com/fla-org/flash-linear-attention/issues/640",
    delete_when="no column before Triton 3.9 is left",
    revision=1,
    concerns=Concerned(concerned),
    changes=(OtherAssembler(newer_ptxas, _may_act),),
)
