"""How the arguments of a launch are bound, and how many warps it should have."""

from __future__ import annotations

import fnmatch
import gc
import inspect
import sys
from typing import (
    Any,
    Collection,
    Dict,
    List,
    Mapping,
    Optional,
    Sequence,
    Set,
    Tuple,
)

from .errors import CompatError
from .features import backend_and_arch, driver

# A block on every GPU that Triton compiles for holds at most 1,024 threads (CUDA C++ Programming Guide, "Technical
# Specifications per Compute Capability"; HIP documentation, hipDeviceProp_t.maxThreadsPerBlock).
MAX_THREADS_PER_BLOCK = 1024

# Glob of a target -> (elements of a row that one program holds at once, up to; num_warps), in order. What is longer
# than the last takes the last. The first glob that matches counts.
# sm_90: measured on an H200 with Triton 3.6.0 and torch 2.11, 2026-11-21 (tests/bench/README.md): each is the best of
# 1 to 32 or within 1 % of it, by geometric mean over the kernels and row lengths of that block.
# The others are the steps that libraries use, and not measured.
NUM_WARPS: Mapping[str, Sequence[Tuple[int, int]]] = {
    "sm_90": ((512, 1), (1024, 2), (2048, 4), (4096, 8), (16384, 16), (32768, 32), (262144, 16)),
    "sm_*": ((1024, 4), (4096, 8), (16384, 16), (262144, 32)),
    "gfx*": ((1024, 4), (4096, 8), (262144, 16)),
}
# Where there is no GPU, for the interpreter: it does not look at num_warps.
_WITHOUT_GPU = "sm_90"
# Threads in a warp, by glob of a target. RDNA (gfx10 and later) has wavefronts of 32.
_WARP_SIZES = (("gfx9*", 64), ("*", 32))


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


def num_warps(block_size: int, target: Any = None) -> int:
    """A sensible num_warps for a kernel whose programs each walk a row, in blocks of `block_size` elements.

    Args:
        block_size: elements that a program holds at once: the row's length rounded up to a power of two, or the block
            in which it walks a longer row (a vocabulary of 32k to 256k).
        target: ``"sm_90"``, ``"gfx942"``, or a target of Triton's own; None for the current GPU.

    Raises:
        CompatError: `block_size` is no positive number, or `target` is neither.
    """
    if not isinstance(block_size, int) or block_size < 1:
        msg = f"block_size={block_size!r}: give the number of elements in a block, 1 or more"
        raise CompatError(msg)
    name = _current_target() if target is None else _target_name(target)
    steps = next((NUM_WARPS[glob] for glob in NUM_WARPS if fnmatch.fnmatchcase(name, glob)), None)
    if steps is None:
        known = ", ".join(NUM_WARPS)
        msg = (
            f"target={target!r} is not known: use None for the current GPU, or a name like {known}"
        )
        raise CompatError(msg)
    warps = next((warps for largest, warps in steps if block_size <= largest), steps[-1][1])
    warp_size = next(size for glob, size in _WARP_SIZES if fnmatch.fnmatchcase(name, glob))
    return warps_within(warps, warp_size)


def _current_target() -> str:
    try:
        return _target_name(driver().get_current_target())
    except Exception:
        # Each Triton has its own exception for a machine without a GPU.
        return _WITHOUT_GPU


def _target_name(target: Any) -> str:
    if isinstance(target, str):
        return target
    arch = backend_and_arch(target)[1]
    return f"sm_{arch}" if isinstance(arch, int) else str(arch).split(":")[0]


# The objects that existed when a process prepared to be forked often; None if none did.
_ready_with: Optional[List[Any]] = None


def ready_to_fork() -> None:
    """Look for kernels and their configurations now, so that forked children need not. In a child the collector does
    not list objects from before the fork, and reading a hundred thousand names copies the page of each."""
    global _ready_with
    from triton.runtime.autotuner import Config

    _ready_with = None
    kernels = _kernels_of_modules()
    _ready_with = [*kernels, *_collected(Config, *{type(kernel) for kernel in kernels})]


def existing(*kinds: type) -> List[Any]:
    """Every object of these very classes that the garbage collector knows, or that a kernel of some module holds."""
    objects = {id(thing): thing for thing in _collected(*kinds)}
    if _ready_with is None and not gc.get_freeze_count():
        return list(objects.values())
    # The collector does not list frozen objects, as in a forked child: look where kernels are.
    for thing in _kernels_of_modules() if _ready_with is None else _ready_with:
        for holder in (thing, *(getattr(thing, "configs", None) or ())):
            if type(holder) in kinds:
                objects[id(holder)] = holder
    return list(objects.values())


def _collected(*kinds: type) -> List[Any]:
    # Half the time of a walk through `gc.get_objects`: an object refers to its class.
    return [thing for thing in gc.get_referrers(*kinds) if type(thing) in kinds]


def _kernels_of_modules() -> List[Any]:
    from triton.runtime.jit import KernelInterface

    classes = _with_subclasses(KernelInterface)
    kernels = []
    for module in list(sys.modules.values()):
        # A hundred thousand names and more.
        for thing in list(getattr(module, "__dict__", {}).values()):
            while type(thing) in classes:
                kernels.append(thing)
                thing = getattr(thing, "fn", None)
    return kernels


def _with_subclasses(kind: Any) -> Set[Any]:
    return {kind}.union(*(_with_subclasses(subclass) for subclass in kind.__subclasses__()))


def with_option(src: Any, name: str, asked: int, value: int) -> Any:
    """`src` with the kernel's own parameter `name`, if it declares one that is `asked`, following the launch option."""
    names = list(getattr(src.fn, "arg_names", ()))
    if name not in names:
        return src
    constants = dict(src.constants)
    # Breakpoint: keys are numbers before Triton 3.0, names before 3.3, paths of numbers since.
    for key in (name, names.index(name), (names.index(name),)):
        if constants.get(key) == asked:
            constants[key] = value
    try:
        return type(src)(src.fn, src.signature, constants, attrs=src.attrs)
    except TypeError:
        return src


# The types of a measurement of one configuration, by release and by how it is measured.
TIMINGS = (float, list, tuple)


def no_time(tuner: Any) -> Any:
    """The time given to a configuration that cannot run, in the form that this autotuner compares."""
    # Breakpoint: before Triton 3.2 a benchmark with CUDA graphs returns one number, not three.
    if getattr(tuner, "use_cuda_graph", False) and not hasattr(tuner, "do_bench"):
        return float("inf")
    return [float("inf")] * 3
