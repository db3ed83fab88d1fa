"""Compile in a forked child, so that a compiler abort becomes a Python exception.

Only kernels that a known issue may kill go there (`known_crashes`), or all kernels on request. Only a miss in Triton's
cache forks: the child compiles and leaves the result in that cache, and the parent loads it from there. A crash is
remembered on disk (``crash_memory``), keyed by kernel source, options, target and Triton build, so that no later
process repeats it. The matrix and the library use this same guard.
"""

from __future__ import annotations

import contextlib
import functools
import os
import sys
import threading
import time
import weakref
from typing import TYPE_CHECKING, Any, Callable, Optional, Set, Tuple

from . import features
from .acts import acted, note_acted
from .copies import COMMON
from .errors import CompilerCrashed, say_once, say_without_raising
from .record import Patches
from .seams.attribute import around
from .seams.launches import around_compile

if TYPE_CHECKING:
    from .crash_memory import Entry
    from .isolate import Outcome

TIME_LIMIT_ENV = "CROSSWARP_COMPILE_SECONDS"
MEMORY_LIMIT_ENV = "CROSSWARP_COMPILE_MB"
# Seconds to wait for another process that compiles the same kernel, before compiling it here as well.
LOCK_LIMIT_ENV = "CROSSWARP_LOCK_SECONDS"
DEFAULT_SECONDS = 600.0

# on_crash(crash, compile, src, args, kwargs) -> a compiled kernel to use instead, or it raises.
CrashHandler = Callable[..., Any]


class _CacheMiss(BaseException):
    """Raised where Triton starts to build the IR: the kernel is not in its cache."""


class _State(threading.local):
    looking = False
    # A process that guards the same kernel would wait for its lock, held here.
    guarding = False


_state = _State()
_child = False
_in_place = False
_timed = False
_reads_output = False
# Deaths that the program itself causes. The others come from outside: from a person, or a machine without memory.
_OWN_SIGNALS = ("SIGABRT", "SIGBUS", "SIGFPE", "SIGILL", "SIGSEGV", "SIGSYS", "SIGTRAP")
# Messages of a process that dies because it got no thread, no memory or no file.
_OF_THE_MACHINE = (
    *("Resource temporarily unavailable", "Cannot allocate memory", "Too many open files"),
    *("No space left on device", "std::bad_alloc"),
)
# Seconds a child compiled, by the kernel that this process then loaded. Kernels without weak references are left out.
_seconds_of: "weakref.WeakKeyDictionary[Any, float]" = weakref.WeakKeyDictionary()
_processor_of: "weakref.WeakKeyDictionary[Any, float]" = weakref.WeakKeyDictionary()


def compile_seconds(kernel: Any) -> Optional[float]:
    """Wall time of a compilation under the guard; None if the kernel was in Triton's cache."""
    return None if kernel is None else _seconds_of.get(kernel)


def processor_seconds(kernel: Any) -> Optional[float]:
    """CPU seconds of that compilation, with ptxas and the like; None if the kernel was in Triton's cache."""
    return None if kernel is None else _processor_of.get(kernel)


def compile_in_place() -> None:
    """From now on compile in this process: it is a child already, and its parent retries if it dies."""
    global _in_place
    _in_place = True


def time_all() -> None:
    """From now on note how long each compilation takes, even without a guard."""
    global _timed
    _timed = True


def read_output() -> None:
    """From now on attach the compiler's output to each exception of a compilation: one that fails runs once more."""
    global _reads_output
    _reads_output = True


def in_child() -> bool:
    """Whether this process is a child in which the guard compiles."""
    return _child


def mode() -> str:
    """The strictest mode requested by any copy of this library: ``off``, ``auto`` or ``always``."""
    asked: Set[str] = set()
    for copy in tuple(COMMON.asking):
        asked.update(getattr(copy, "guards", lambda: ("auto",))())
    return next((mode for mode in ("always", "auto", "off") if mode in asked), "auto")


def install(patches: Patches) -> None:
    """Compile every kernel that a launch asks for in a child."""
    prepare(patches)
    around_compile(
        patches, lambda compile_, src, args, kwargs: _in_child(compile_, src, args, kwargs)
    )


def install_with(patches: Patches, on_crash: CrashHandler) -> None:
    """Call `compile_guarded` for every launch.

    Args:
        patches: where the replaced attributes are kept.
        on_crash: what to do instead of raising `CompilerCrashed`, and instead of an exception of Triton's that is a
            crash at bottom (`as_crash`).
    """
    prepare(patches)

    def guarded(compile_, src, args, kwargs):
        kernel = getattr(src, "name", "a kernel")
        try:
            return compile_guarded(compile_, src, args, kwargs)
        except Exception as error:
            crash = as_crash(error, kernel)
            if crash is None and _wants_output(error) and _can_fork():
                # In this process: the compiler's output has already gone to this process's stderr.
                again = _failed_again(compile_, src, args, kwargs)
                crash = as_crash(again, kernel) if again else None
                if again and crash is None:
                    # The kernel is at fault, and only the compiler's output shows how.
                    with contextlib.suppress(AttributeError):
                        error.compiler_output = again.compiler_output  # type: ignore[attr-defined]
            if crash is None:
                raise
            try:
                return on_crash(crash, compile_, src, args, kwargs)
            except CompilerCrashed:
                # The compiler survived and raised its own exception.
                with contextlib.suppress(AttributeError):
                    error.compiler_output = crash.stderr  # type: ignore[attr-defined]
                raise error from None

    around_compile(patches, guarded)


def _worker() -> Any:
    # Imported on first use: with pickle and its other imports it takes a third of the time of installing.
    from . import worker

    return worker


def _can_fork() -> bool:
    return mode() != "off" and not (_child or _in_place or _state.guarding)


def _failed_again(compile_: Callable, src: Any, args: tuple, kwargs: dict) -> Optional[Exception]:
    """The exception of a second compilation, in a child whose output is captured; None if that one succeeds."""
    try:
        _in_child(compile_, src, args, kwargs)
    except Exception as error:
        return error
    return None


def prepare(patches: Patches) -> None:
    """Install the hooks that `compile_guarded` needs; for callers that guard only some compilations themselves."""
    import triton.compiler.compiler as compiler

    # A worker forked before does not know what is installed now.
    if f"{__package__}.worker" in sys.modules:
        _worker().forget()
    around(patches, compiler.ASTSource, "make_ir", _miss_or_go_on)
    _miss_before_the_context(patches)
    _one_launcher(patches)


def _miss_before_the_context(patches: Patches) -> None:
    """Detect a miss before MLIR's context is made, which costs a millisecond and starts threads."""
    # Before Triton 3.0 `make_ir` makes the context.
    if not features.has_backends():
        return
    import triton

    for backend in triton.backends.backends.values():
        if "add_stages" in vars(backend.compiler):
            around(patches, backend.compiler, "add_stages", _miss_or_go_on)


def _miss_or_go_on(own: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    if _state.looking:
        raise _CacheMiss
    return own(*args, **kwargs)


def _one_launcher(patches: Patches) -> None:
    """Use one launcher for all kernels that one C program serves.

    Triton 2.3.1 builds a launcher with a C compiler, which takes longer than the kernel. Its key holds the values of
    all constants, though the program depends only on their positions. Some numbers are a tuple in the key after a
    compilation, and a list, read from JSON, after a cache hit.
    """
    # Since then a launcher is built at the launch, and without them.
    if features.has_backends():
        return
    import triton.compiler.make_launcher as launcher

    around(patches, launcher, "make_so_cache_key", _key_of_the_program)


def _key_of_the_program(
    make_key: Callable[..., Any],
    version_hash: Any,
    signature: Any,
    constants: Any,
    ids: Any,
    **kwargs: Any,
) -> Any:
    ids = dict(ids, ids_of_folded_args=tuple(ids["ids_of_folded_args"]))
    return make_key(version_hash, signature, sorted(constants), ids, **kwargs)


def as_crash(error: Exception, kernel: str) -> Optional[CompilerCrashed]:
    """`error` if it is a crash of the compiler, or became an exception of Triton's (``RuntimeError: PassManager::run
    failed``) only because MLIR recovered from a failed assertion (seen in Triton 3.3) or a fatal error of LLVM's (3.5);
    else None."""
    if isinstance(error, CompilerCrashed):
        return error
    printed = getattr(error, "compiler_output", "")
    if _may_be_a_crash(error):
        if "Assertion" in printed:
            return CompilerCrashed(kernel, "assertion", "a failed assertion", printed)
        if "LLVM ERROR: operation destroyed" in printed:
            return CompilerCrashed(kernel, "assertion", "a fatal error of LLVM's", printed)
    return None


def _wants_output(error: Exception) -> bool:
    """Whether the compiler's output is needed and not there yet: it may be a crash, or `read_output` was called."""
    return _may_be_a_crash(error) or (_reads_output and not getattr(error, "compiler_output", ""))


def _may_be_a_crash(error: Exception) -> bool:
    return "PassManager::run failed" in str(error)


def compile_guarded(
    compile_: Callable, src: Any, args: tuple, kwargs: dict, variant: str = ""
) -> Any:
    """``compile_(src, *args, **kwargs)``, in a child where a crash is possible; where the guard is off, never.

    Args:
        variant: names another way to compile a kernel that has crashed, which may crash as well.

    Raises:
        CompilerCrashed: the compiler died, now or (remembered) before. Whatever else the compiler raises is raised
            here as it is.
    """
    # Imported here and below: a process that installs may never compile.
    from . import known_crashes

    asked = mode()
    if asked == "always" or (asked == "auto" and (variant or known_crashes.may_die(src, kwargs))):
        return _in_child(compile_, src, args, kwargs, variant)
    if not _timed or _child or _state.looking or _state.guarding:
        return compile_(src, *args, **kwargs)
    known, kernel = _look(compile_, src, args, kwargs)
    return kernel if known else _compile_and_time(compile_, src, args, kwargs)


def _in_child(compile_: Callable, src: Any, args: tuple, kwargs: dict, variant: str = "") -> Any:
    """``compile_(src, *args, **kwargs)``, in a forked child if Triton's cache does not hold the result.

    `variant` names another way to compile the same kernel: its crashes are remembered by themselves.

    Raises:
        CompilerCrashed: the compiler died, now or (remembered) before. Whatever else the compiler raises is raised
            here as it is.
    """
    if _child or _state.looking or _state.guarding:
        return compile_(src, *args, **kwargs)
    known, kernel = _look(compile_, src, args, kwargs)
    if known:
        return kernel
    from . import crash_memory, locks

    try:
        memory = crash_memory.entry(src, args, kwargs, variant)
    except OSError as error:
        _say_unguarded(error)
        return compile_(src, *args, **kwargs)
    with locks.held(crash_memory.lock_folder(), memory.key, _lock_seconds()) as waited:
        if waited:
            known, kernel = _look(compile_, src, args, kwargs)
            if known:
                return kernel
        _state.guarding = True
        try:
            return _compile_in_child(compile_, src, args, kwargs, variant, memory)
        finally:
            _state.guarding = False


def _look(compile_: Callable, src: Any, args: tuple, kwargs: dict) -> Tuple[bool, Any]:
    """Whether Triton's cache has the kernel, and the kernel."""
    _state.looking = True
    try:
        return True, compile_(src, *args, **kwargs)
    except _CacheMiss:
        return False, None
    finally:
        _state.looking = False


def _compile_in_child(
    compile_: Callable,
    src: Any,
    args: tuple,
    kwargs: dict,
    variant: str,
    memory: "Entry",
) -> Any:
    kernel = getattr(src, "name", "a kernel")
    known = memory.read()
    if known is not None:
        raise CompilerCrashed(
            kernel, known["kind"], known["reason"], known["stderr"], remembered=str(memory.path)
        )

    if _in_place:
        return _compile_and_time(compile_, src, args, kwargs)

    def compile_here(src, *args, **kwargs):
        _become_a_child()
        return compile_(src, *args, **kwargs)

    try:
        outcome = _worker().compile_in_child(
            variant, compile_here, src, args, kwargs, _seconds(), _megabytes()
        )
    except OSError as error:
        # No room for another process or its pipes: launching without the guard is better than not launching.
        _say_unguarded(error)
        return compile_(src, *args, **kwargs)
    if outcome.kind == "returned":
        shims, messages, processor = outcome.value
        for shim in set(shims) - set(acted()):
            note_acted(shim)
        # The child's warnings went to a pipe that nobody reads.
        for text in messages:
            say_without_raising(text)
        # The cache has it now.
        compiled = compile_(src, *args, **kwargs)
        _note_seconds(compiled, outcome.seconds, processor)
        return compiled
    if outcome.kind == "raised":
        # The compiler fails the same way here and raises its own exception. Its output was captured in the child.
        try:
            return compile_(src, *args, **kwargs)
        except Exception as error:
            with contextlib.suppress(AttributeError):
                error.compiler_output = outcome.output  # type: ignore[attr-defined]
            raise
    # Hitting a limit on time, memory or processes may be due to the machine, not the kernel: not remembered.
    of_machine = any(words in outcome.output for words in _OF_THE_MACHINE)
    if outcome.kind == "signal" and outcome.reason in _OWN_SIGNALS and not of_machine:
        memory.write({"kernel": kernel, **_summary(outcome)})
    raise CompilerCrashed(kernel, **_summary(outcome))


def _compile_and_time(compile_: Callable, src: Any, args: tuple, kwargs: dict) -> Any:
    """Compile in this process, and note how long it took."""
    began, processor_began = time.monotonic(), _worker().processor_seconds()
    compiled = compile_(src, *args, **kwargs)
    processor = _worker().processor_seconds() - processor_began
    _note_seconds(compiled, time.monotonic() - began, processor)
    return compiled


def _note_seconds(compiled: Any, seconds: float, processor: float) -> None:
    with contextlib.suppress(TypeError):
        _seconds_of[compiled] = seconds
        _processor_of[compiled] = processor


def _say_unguarded(error: OSError) -> None:
    say_once(
        f"kernels are compiled without the guard, because no child process can be started ({error}): a crash of the "
        "compiler would end this process. Raise the limit on open files (ulimit -n) or processes (ulimit -u)"
    )


def _become_a_child() -> None:
    """Compile here and leave the result in the cache unread: the parent loads it."""
    global _child
    if _child:
        return
    _child = True
    import triton.compiler.compiler as compiler

    load = compiler.CompiledKernel

    class LoadedWhenUsed:
        def __init__(self, *args, **kwargs):
            self._load = functools.partial(load, *args, **kwargs)

        def __getattr__(self, name):
            return getattr(self._load(), name)

    compiler.CompiledKernel = LoadedWhenUsed


def _summary(outcome: "Outcome") -> dict:
    return {"kind": outcome.kind, "reason": outcome.reason, "stderr": outcome.output}


def _seconds() -> float:
    return float(os.environ.get(TIME_LIMIT_ENV, DEFAULT_SECONDS))


def _lock_seconds() -> float:
    return float(os.environ.get(LOCK_LIMIT_ENV, _seconds()))


def _megabytes() -> Optional[int]:
    text = os.environ.get(MEMORY_LIMIT_ENV)
    return int(text) if text else None
