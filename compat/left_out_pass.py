"""Compile without an optimisation that kills the compiler: the one of Triton 3.0 to 3.2 that keeps sums in each thread.

The pass makes a loop's sums of rows cheaper, and asserts that such a sum is used once. Without it they are what they
were before it: right, and put together in every turn of the loop.
"""

import copy
import threading
from typing import Any, Callable

from .record import Patches
from .versions import in_window

# What the compiler says when it dies of it.
FATAL = "OptimizeThreadLocality.cpp"


class _State(threading.local):
    leaving_out = False


_state = _State()


def _passes() -> Any:
    import triton._C.libtriton as libtriton

    # Breakpoint: before Triton 3.0 passes are methods of the pass manager.
    return getattr(getattr(libtriton, "passes", None), "ttgpuir", None)


def supported() -> bool:
    """Whether this Triton needs it, and the pass is where it can be left out."""
    import triton

    return in_window(">=3.0,<3.3", triton.__version__) and hasattr(
        _passes(), "add_optimize_thread_locality"
    )


def install(patches: Patches) -> None:
    """Have the pass ask whether it is wanted. Other compilations, of other threads too, go on as they are."""
    passes = _passes()
    add = passes.add_optimize_thread_locality

    def add_if_wanted(pass_manager):
        if not _state.leaving_out:
            add(pass_manager)

    patches.set(passes, "add_optimize_thread_locality", add_if_wanted)


def compiling(compile_: Callable) -> Callable:
    """`compile_` without the pass, under a key of its own in Triton's cache."""

    def compile(src: Any, *args: Any, **kwargs: Any) -> Any:
        ours = copy.copy(src)
        ours.hash = lambda: f"{src.hash()}-without-thread-locality"
        _state.leaving_out = True
        try:
            return compile_(ours, *args, **kwargs)
        finally:
            _state.leaving_out = False

    return compile
