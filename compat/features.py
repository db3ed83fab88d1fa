"""Traits of Triton's generations: each fact under one name, in one place.

A fact is looked up on each call, because a shim may add what an old Triton lacks. Ask here for a feature, however it is
spelled. Which releases a shim affects is a specifier in its record, compared in `versions`.
"""

from __future__ import annotations

import sys
from typing import Any, Dict, Optional, Tuple


def has_backends() -> bool:
    """Breakpoint: Triton 3.0 has pluggable backends; before, one for CUDA, built in."""
    import triton

    return hasattr(triton, "backends")


def has_binder() -> bool:
    """Breakpoint: Triton 3.0 binds a launch with a function made for the kernel, and keeps the compiler in
    ``self.compile``; before, ``run`` did both, and imported the compiler at each launch."""
    from triton.runtime.jit import JITFunction

    return hasattr(JITFunction, "create_binder")


def has_function_type() -> bool:
    """Breakpoint: Triton 3.3 dropped the type of functions, and takes a constexpr as an argument; before, a launch says
    "Callable constexpr … is not supported"."""
    import triton.language as tl

    return hasattr(tl, "function_type")


def has_libdevice_in_math() -> bool:
    """Breakpoint: Triton 3.0 moved libdevice out of tl.math, and added the names that are missing before."""
    import triton.language as tl

    return hasattr(tl.math, "libdevice_path")


def has_descriptors() -> bool:
    """Breakpoint: Triton 3.4 dropped "_experimental" from the names of tensor descriptors."""
    import triton.language as tl

    return hasattr(tl, "make_tensor_descriptor")


def has_experimental_descriptors() -> bool:
    """Breakpoint: Triton 3.3 brought tensor descriptors, with "_experimental" in their names."""
    import triton.language as tl

    return hasattr(tl, "_experimental_make_tensor_descriptor")


def has_constexpr_function() -> Tuple[bool, bool]:
    """Whether `triton` and whether `triton.language` has it. Breakpoint: Triton 3.4 has it in the language, 3.5 not."""
    import triton
    import triton.language as tl

    return hasattr(triton, "constexpr_function"), hasattr(tl, "constexpr_function")


def has_config_all_kwargs() -> bool:
    """Breakpoint: Triton 3.0 has all options of a configuration together; before, `run` named each of them beside the
    meta-parameters."""
    # One change brought both; the method may be that of moved_internals.
    import inspect

    from triton.runtime.autotuner import Config

    return "maxnreg" in inspect.signature(Config.__init__).parameters


def has_cluster_dims() -> bool:
    """Breakpoint: Triton 3.6 dropped the option, and a cluster is ``num_ctas`` blocks in a row."""
    from triton.backends.nvidia.compiler import CUDAOptions

    return "cluster_dims" in vars(CUDAOptions)["__dataclass_fields__"]


def has_sound_clusters() -> bool:
    """Breakpoint: before Triton 3.2 some kernels compile wrongly with ``num_ctas``; since then they do not compile."""
    return _at_least("3.2")


def has_hash_lock() -> bool:
    """Breakpoint: from Triton 3.5 on a kernel's function holds a lock, which cannot be pickled."""
    from triton.runtime.jit import JITFunction

    makers = (getattr(vars(kind).get("__init__"), "__code__", None) for kind in JITFunction.__mro__)
    return any(code is not None and "_hash_lock" in code.co_names for code in makers)


def knobs() -> Optional[Any]:
    """The module, if it is imported. Breakpoint: Triton 3.4 has settings in Python as well as in the environment."""
    return sys.modules.get("triton.knobs")


def benchmark_of_its_own(init: Any) -> bool:
    """Breakpoint: from Triton 3.2 on each autotuner, made by `init`, holds its own benchmark, and hooks get arguments
    by name."""
    import inspect

    return "do_bench" in inspect.signature(init).parameters


def returns_max_threads() -> bool:
    """Breakpoint: Triton 3.4 expects the most threads of a block from ``load_binary``, as a fifth value."""
    return _at_least("3.4")


def links_amd() -> bool:
    """Breakpoint: Triton 3.5 links AMD code by itself; before, with an ld.lld that is not in the wheel."""
    return _at_least("3.5")


def driver() -> Any:
    """The active driver. Breakpoint: before Triton 3.0 `driver` is the driver itself."""
    from triton.runtime import driver

    return getattr(driver, "active", driver)


def gpu_target(backend: str, arch: Any, warp_size: int) -> Any:
    """A target in the form that this Triton's compiler takes. Breakpoint: before Triton 3.0 it is a pair."""
    if not has_backends():
        return backend, arch
    from triton.backends.compiler import GPUTarget

    return GPUTarget(backend, arch, warp_size)


def backend_and_arch(target: Any) -> Tuple[Any, Any]:
    """Of a target in any form. Breakpoint: before Triton 3.0 it is the pair ("cuda", 90)."""
    if isinstance(target, tuple):
        return target[0], target[1]
    return getattr(target, "backend", None), getattr(target, "arch", None)


def hidden_keyword(interpreter: Any) -> Dict[str, Any]:
    """The argument that builtins get in the interpreter. Breakpoint: Triton 3.4 passes a semantic; before, a
    builder."""
    if hasattr(interpreter, "interpreter_semantic"):
        return {"_semantic": interpreter.interpreter_semantic}
    return {"_builder": interpreter.interpreter_builder}


def _at_least(release: str) -> bool:
    import triton

    from .versions import in_window

    return in_window(f">={release}", triton.__version__)
