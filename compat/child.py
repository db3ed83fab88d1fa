"""The child's side of crash isolation: it runs a function, sends the result to the parent, and exits."""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import gc
import resource
import signal
import sys
from typing import Any, Callable, Tuple

from . import frames, system
from .tracebacks import text_of

_PR_SET_PDEATHSIG = 1


def die_with_parent() -> None:
    """Have this process killed when its parent dies, however that happens (Linux; elsewhere this does nothing)."""
    library = libc()
    if library is not None:
        library.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def libc() -> Any:
    with contextlib.suppress(OSError, AttributeError):
        return ctypes.CDLL(None) if sys.platform == "linux" else None
    return None


def in_group_of_its_own(library: Any, parent: int) -> None:
    # Objects that the parent left to its garbage collector may include a compiler's context. Its destructor waits for
    # threads that a fork does not copy, so the child never collects it.
    gc.freeze()
    with contextlib.suppress(OSError):
        system.setpgid(0, 0)
    die_with(library, parent)


def die_with(library: Any, parent: int) -> None:
    """Have this process, a fork of `parent`, killed when that dies; at once if it is dead already."""
    if library is not None:
        library.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if system.getppid() != parent:
            system.leave(70)


def run(function: Callable, result_fd: int, output_fd: int) -> None:
    """Send each item of ``function(send)`` to the parent, or the exception that it raises, and leave."""
    leave, getpid = system.leave, system.getpid
    system.set_handler(signal.SIGINT, signal.SIG_DFL)
    # While SIGCHLD is ignored, nobody learns how a process started here (ptxas, for example) has ended.
    system.set_handler(signal.SIGCHLD, signal.SIG_DFL)
    # pytest points faulthandler at its own stderr: the dying child would write over the run's progress.
    faulthandler.disable()
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    system.dup2(output_fd, 1)
    system.dup2(output_fd, 2)
    system.close(output_fd)
    # Captured streams of a test runner are objects of the parent: write to the pipe instead.
    sys.stdout = open(
        1, "w", encoding="utf-8", errors="backslashreplace", closefd=False, buffering=1
    )
    sys.stderr = open(
        2, "w", encoding="utf-8", errors="backslashreplace", closefd=False, buffering=1
    )
    packed, write, message = frames.packed, _write, frames.MESSAGE

    def send(value: Any) -> None:
        write(result_fd, packed(message, value))

    child = getpid()

    def answer(kind: bytes, value: Any) -> None:
        if getpid() != child:
            # A fork of the child that came back here as well.
            leave(0)
        frame = packed(kind, value)
        with contextlib.suppress(BaseException):
            sys.stdout.flush()
            sys.stderr.flush()
        write(result_fd, frame)

    try:
        for value in function(send):
            answer(frames.RESULT, value)
    except frames.NotData as error:
        answer(frames.NO_DATA, str(error))
    except BaseException as error:
        answer(frames.RAISED, _raised(error))
    leave(0)


def _raised(error: BaseException) -> Tuple[str, str, str]:
    """The texts of a `Raised`, even if the class of the exception raises when asked for one."""
    try:
        # If __str__ returns a subclass of str: as an exact str.
        text = str.__str__(str(error))
    except BaseException as another:
        text = f"<without text: {type(another).__name__}>"
    name = str.__str__(type.__dict__["__name__"].__get__(type(error)))
    try:
        description = text_of(error)
    except BaseException:
        description = f"{name}: {text}"
    return name, text, description


def _write(fd: int, frame: bytes, write=system.write) -> None:
    data = memoryview(frame)
    while data:
        data = data[write(fd, data) :]
