"""Triton 3.6 to 3.8 assemble for Hopper with a ptxas whose optimiser gets some kernels wrong, without a word.

It is 12.8 in 3.6 and 3.7, which gets products wrong, and 12.9 in 3.8, which adds nothing where two packed additions of
16 bits add the same constant. Their wheels hold a second ptxas, `ptxas-blackwell` (12.9 in 3.6, 13.1 in 3.7, 13.3 in
3.8), that Triton uses for newer GPUs only and that knows Hopper as well: with it the same PTX gives right numbers.
Triton 3.9 does so by itself. Triton asks its ptxas for the version and has that in the key of its cache, so what the
old one made is not taken from there.
"""

import ctypes
import functools
import os
from typing import Any, Optional, Tuple

from ..acts import note_acted
from ..errors import say_once
from ..record import Patches, Shim
from ..versions import numbers

HOPPER = 90
WRONG = ((12, 8), (12, 9))


def apply(patches: Patches) -> None:
    try:
        from triton.backends.nvidia import compiler
    except ImportError:  # a build for AMD alone
        return
    # Symptom: wrong numbers without an error: products of a masked, rounded product with 16 or 32 columns, four warps.
    # On 3.8: sums of small integers without a constant, and bytes of another tile in a transposed fp8 store.
    # Window: Triton 3.6 to 3.8, sm_90. Links: fla-org/flash-linear-attention#640 led to it; triton-lang/triton#11581
    # and #11111 of 3.8.
    # Breakpoint: Triton 3.9 assembles for Hopper with the newer one; delete with the last column before it.
    get_ptxas = compiler.get_ptxas

    @functools.wraps(get_ptxas)
    def ptxas_that_is_right(arch: int) -> Any:
        tool = get_ptxas(arch)
        # Who has chosen a ptxas gets that one.
        if arch != HOPPER or _version(tool) not in WRONG or os.environ.get("TRITON_PTXAS_PATH"):
            return tool
        newer = _newer(tool)
        if newer is None:
            return tool
        note_acted(SHIM.name)
        return newer

    patches.set(compiler, "get_ptxas", ptxas_that_is_right)
    _forget_versions(compiler)
    patches.on_undo(functools.partial(_forget_versions, compiler))


def _newer(old: Any) -> Optional[Any]:
    """The other ptxas of the wheel, or None where there is none or this machine's driver cannot load what it makes."""
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
        # What Triton 3.8 writes, 12.8 does not read.
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
    """The CUDA version that the driver of this machine knows; None without one, where nothing will be launched."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return None
    version = ctypes.c_int()
    if driver.cuDriverGetVersion(ctypes.byref(version)) != 0:
        return None
    return version.value // 1000, version.value % 1000 // 10


def _forget_versions(compiler: Any) -> None:
    """Have Triton ask its ptxas again: the answer is part of the cache's key, and remembered."""
    compiler.get_ptxas_version.cache_clear()
    compiler.CUDABackend.hash.cache_clear()


SHIM = Shim(
    name="hopper_ptxas",
    issue="masked-product",
    tier="silent",
    window=">=3.6,<3.9",
    symptom="wrong numbers on Hopper from a product of a masked, rounded product with 16 or 32 columns and four warps",
    link="https://github.com/fla-org/flash-linear-attention/issues/640",
    delete_when="no column before Triton 3.9 is left",
    apply=apply,
)
