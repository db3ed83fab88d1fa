"""Compile without an optimisation that kills the compiler: the kernel is right without it, and a little slower."""

import copy
import functools
import threading
from typing import Any, Callable, List, NamedTuple, Tuple

from .errors import CompilerCrashed
from .record import Patches
from .seams.attribute import around
from .versions import in_window


class Pass(NamedTuple):
    """A pass that kills the compiler, and how to recognise it.

    Attributes:
        name: for the key in Triton's cache.
        window: the affected releases, as a specifier.
        module: where ``triton._C.libtriton`` keeps the function that adds it.
        function: that function's name.
        backend: of the targets that have it; "" is every one.
        reason: how the compiler dies of it.
        words: its last message, "" if none.
    """

    name: str
    window: str
    module: Tuple[str, ...]
    function: str
    backend: str
    reason: str
    words: str


PASSES = (
    # Keeps a loop's sums of rows separate in each thread, and asserts that such a sum is used once.
    Pass(
        "thread-locality",
        ">=3.0,<3.3",
        ("passes", "ttgpuir"),
        "add_optimize_thread_locality",
        "",
        "SIGABRT",
        "OptimizeThreadLocality.cpp",
    ),
    # Stores a matrix product in the layout it has, and follows each stored value to the operation that made it. A value
    # that a loop carries was made by none. The segmentation fault does not show where it happened.
    Pass(
        "epilogue",
        ">=3.0,<3.2",
        ("amd", "passes", "ttgpuir"),
        "add_optimize_epilogue",
        "hip",
        "SIGSEGV",
        "",
    ),
)


class _State(threading.local):
    leaving_out = ""


_state = _State()


def _module(which: Pass) -> Any:
    import triton._C.libtriton as module

    # Breakpoint: before Triton 3.0 passes are methods of the pass manager.
    for name in which.module:
        module = getattr(module, name, None)
    return module


def _here() -> List[Pass]:
    """The passes that this Triton has to leave out, where they can be left out."""
    import triton

    return [
        which
        for which in PASSES
        if in_window(which.window, triton.__version__) and hasattr(_module(which), which.function)
    ]


def killing(crash: CompilerCrashed, backend: str) -> List[Pass]:
    """The passes that may have caused this crash, on a target of `backend`."""
    return [
        which
        for which in _here()
        if which.reason == crash.reason
        and which.words in crash.stderr
        and which.backend in ("", backend)
    ]


def install(patches: Patches) -> None:
    """Have each pass ask whether it is wanted. Other compilations, including other threads', are not affected."""

    for which in _here():
        around(patches, _module(which), which.function, functools.partial(_add_if_wanted, which))


def _add_if_wanted(which: Pass, add: Callable, pass_manager: Any, *args: Any) -> None:
    if _state.leaving_out != which.name:
        add(pass_manager, *args)


def compiling(which: Pass, compile_: Callable) -> Callable:
    """`compile_` without the pass, under a separate key in Triton's cache."""

    def compile(src: Any, *args: Any, **kwargs: Any) -> Any:
        ours = copy.copy(src)
        ours.hash = lambda: f"{src.hash()}-without-{which.name}"
        _state.leaving_out = which.name
        try:
            return compile_(ours, *args, **kwargs)
        finally:
            _state.leaving_out = ""

    return compile
