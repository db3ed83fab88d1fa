"""Compile in a forked child, so that a compiler abort becomes a Python exception.

Only a miss of Triton's cache forks: the child compiles and leaves the result in that cache, the parent loads it from
there. A crash is remembered on disk (``crash_memory``), keyed by kernel source, options, target and Triton build, so
that no later process walks into it again. The matrix and the library use this same guard.
"""

import contextlib
import os
import threading
from typing import Any, Callable, Optional

from . import crash_memory
from .errors import CompilerCrashed
from .isolate import Outcome, run_isolated
from .record import Patches

TIME_LIMIT_ENV = "CROSSWARP_COMPILE_SECONDS"
MEMORY_LIMIT_ENV = "CROSSWARP_COMPILE_MB"
DEFAULT_SECONDS = 600.0

# on_crash(crash, compile, src, args, kwargs) -> a compiled kernel to use instead, or it raises.
CrashHandler = Callable[..., Any]


class _CacheMiss(BaseException):
    """Raised where Triton starts to build the IR: what is asked for is not in its cache."""


class _State(threading.local):
    looking = False


_state = _State()
_child = False


def in_child() -> bool:
    """Whether this process is a child in which the guard compiles."""
    return _child


def install(patches: Patches, on_crash: Optional[CrashHandler] = None) -> None:
    """Guard every compilation that a launch starts.

    Args:
        patches: where the replaced attributes are kept.
        on_crash: what to do instead of raising `CompilerCrashed`.
    """
    import triton.compiler.compiler as compiler
    from triton.runtime.jit import JITFunction

    make_ir = compiler.ASTSource.make_ir

    def miss_or_make_ir(self, *args, **kwargs):
        if _state.looking:
            raise _CacheMiss
        return make_ir(self, *args, **kwargs)

    patches.set(compiler.ASTSource, "make_ir", miss_or_make_ir)
    if _run_imports_compile():
        import triton.compiler

        patches.set(triton.compiler, "compile", _guarded(triton.compiler.compile, on_crash))
    else:
        patches.set(JITFunction, "compile", _GuardedAttribute(on_crash))


def _run_imports_compile() -> bool:
    """Breakpoint: Triton 3.0 keeps the compiler in ``self.compile``; before, ``run`` imported it at each launch."""
    from triton.runtime.jit import JITFunction

    return not hasattr(JITFunction, "create_binder")


class _GuardedAttribute:
    """``JITFunction.compile`` as a data descriptor: it covers kernels that were bound before the guard came."""

    def __init__(self, on_crash: Optional[CrashHandler]):
        self._on_crash = on_crash

    def __get__(self, kernel, owner=None):
        if kernel is None:
            return self
        try:
            compile_ = kernel.__dict__["compile"]
        except KeyError:
            raise AttributeError("compile") from None
        return _guarded(compile_, self._on_crash)

    def __set__(self, kernel, value):
        kernel.__dict__["compile"] = value


def _guarded(compile_: Callable, on_crash: Optional[CrashHandler]) -> Callable:
    def compile(src, *args, **kwargs):
        try:
            return compile_guarded(compile_, src, args, kwargs)
        except Exception as error:
            crash = None if on_crash is None else as_crash(error, getattr(src, "name", "a kernel"))
            if crash is None or on_crash is None:
                raise
            return on_crash(crash, compile_, src, args, kwargs)

    return compile


def as_crash(error: Exception, kernel: str) -> Optional[CompilerCrashed]:
    """`error` if it is a crash of the compiler, or became an exception of Triton's only because MLIR recovered from a
    failed assertion (seen in Triton 3.3: ``RuntimeError: PassManager::run failed``); else None."""
    if isinstance(error, CompilerCrashed):
        return error
    printed = getattr(error, "compiler_output", "")
    if "PassManager::run failed" in str(error) and "Assertion" in printed:
        return CompilerCrashed(kernel, "assertion", "a failed assertion", printed)
    return None


def compile_guarded(compile_: Callable, src: Any, args: tuple, kwargs: dict) -> Any:
    """``compile_(src, *args, **kwargs)``, in a forked child if Triton's cache does not hold the result.

    Raises:
        CompilerCrashed: the compiler died, now or (remembered) before. Whatever else the compiler raises is raised
            here as it is.
    """
    if _child or _state.looking:
        return compile_(src, *args, **kwargs)
    _state.looking = True
    try:
        return compile_(src, *args, **kwargs)
    except _CacheMiss:
        pass
    finally:
        _state.looking = False

    kernel = getattr(src, "name", "a kernel")
    memory = crash_memory.entry(src, args, kwargs)
    known = memory.read()
    if known is not None:
        raise CompilerCrashed(
            kernel, known["kind"], known["reason"], known["stderr"], remembered=str(memory.path)
        )

    def in_fork(send):
        global _child
        _child = True
        compile_(src, *args, **kwargs)

    outcome = run_isolated(in_fork, time_limit=_seconds(), memory_limit_mb=_megabytes())
    if outcome.kind == "returned":
        # The cache has it now.
        return compile_(src, *args, **kwargs)
    if outcome.kind == "raised":
        # The compiler does the same here, and raises its own exception; what it printed was caught with the child.
        try:
            return compile_(src, *args, **kwargs)
        except Exception as error:
            with contextlib.suppress(AttributeError):
                error.compiler_output = outcome.output  # type: ignore[attr-defined]
            raise
    if outcome.kind == "signal":
        # A time or memory limit says as much about the machine as about the kernel: not remembered.
        memory.write({"kernel": kernel, **_summary(outcome)})
    raise CompilerCrashed(kernel, **_summary(outcome))


def _summary(outcome: Outcome) -> dict:
    return {"kind": outcome.kind, "reason": outcome.reason, "stderr": outcome.output}


def _seconds() -> float:
    return float(os.environ.get(TIME_LIMIT_ENV, DEFAULT_SECONDS))


def _megabytes() -> Optional[int]:
    text = os.environ.get(MEMORY_LIMIT_ENV)
    return int(text) if text else None
