"""One forked child for many compilations of the same kernel.

A fork of a process that has loaded torch costs 30 ms, most of it in the page faults of the child, and 130 ms where the
process holds a gigabyte (measured). While an autotuner measures, the configurations of one kernel follow each other:
the child that compiled the first compiles the rest, as long as it succeeds. It has its parent's state from the time
of the fork, so it is kept only for the same kernel in the same environment, and for a moment.

Each thread has a separate one: Linux kills such a child when the thread that forked it ends, not when the process does.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import select
import struct
import threading
import time
from typing import Any, Callable, Iterator, List, Optional, Tuple

from . import features
from .acts import acted
from .copies import COMMON
from .isolate import Child, Outcome, fork
from .vendors import as_tritons

# After so long without work the parent offers the child no more; the child leaves a little later. It then stays in the
# system's process table until its thread compiles again or ends.
KEPT_SECONDS = 1.0
_LEAVES_AFTER = 3.0
_LENGTH = struct.Struct("!Q")
# The failure of a child that has compiled before: it may have been killed while it waited, or be full of earlier work.
# Only the failure of a fresh child is the kernel's.
_MAY_BE_THE_CHILDS = ("signal", "exit", "memory", "unreadable")

# compile_(src, *args, **kwargs)
Compile = Callable[..., Any]


class Worker:
    """A child that is forked with its first work and can be given more, as long as none fails."""

    def __init__(self, first: Callable[[], Any], serve: Callable[[bytes], Any]):
        work_read, self._work_fd = os.pipe()
        work_write = self._work_fd

        def run(send) -> Iterator[Tuple[List[str], List[str], float]]:
            os.close(work_write)
            began = processor_seconds()
            first()
            # The kernel is in Triton's cache; the object cannot be sent. The record of its compilation can.
            yield acted(), sorted(COMMON.said), processor_seconds() - began
            while (work := next_work(work_read, _LEAVES_AFTER)) is not None:
                began = processor_seconds()
                serve(work)
                yield acted(), sorted(COMMON.said), processor_seconds() - began

        # The work's time begins here: this process may be stopped while the child works.
        self._began = time.monotonic()
        try:
            self._child: Child = fork(run)
        except BaseException:
            os.close(self._work_fd)
            raise
        finally:
            os.close(work_read)
        self._parent = os.getpid()
        self._last = time.monotonic()
        self._gone = False

    def usable(self) -> bool:
        """Whether it can be given more work: it is our child, lives, and was busy a moment ago."""
        if self._gone or self._parent != os.getpid():
            return False
        if time.monotonic() - self._last > KEPT_SECONDS:
            return False
        return self._child.alive()

    def give(self, work: bytes) -> None:
        """Hand over work. Raises BrokenPipeError if the child is gone."""
        self._began = time.monotonic()
        write_work(self._work_fd, work)

    def outcome(self, time_limit: float, memory_limit_mb: Optional[int]) -> Outcome:
        """The outcome of the work given last."""
        outcome = self._child.watch(self._began, time_limit, memory_limit_mb, until_result=True)
        self._last = time.monotonic()
        return outcome

    def kill(self) -> None:
        """Have the child die meanwhile; `end` waits for it."""
        if not self._gone and self._parent == os.getpid():
            self._child.kill()

    def end(self) -> None:
        """Kill the child and the processes it started, and wait for that; in a fork of its parent, only close the
        pipes."""
        if self._gone:
            return
        self._gone = True
        os.close(self._work_fd)
        if self._parent == os.getpid():
            self._child.end()
        else:
            self._child.close()

    def __del__(self):
        # The thread that forked it has ended. At interpreter exit the names needed here may be gone already.
        with contextlib.suppress(Exception):
            self.end()


def processor_seconds() -> float:
    """CPU seconds of this process and of those it waited for (ptxas), without others on the same cores."""
    return sum(os.times()[:4])


def write_work(fd: int, work: bytes) -> None:
    """Hand over work to the caller of `next_work`. Raises BrokenPipeError if it is gone."""
    data = memoryview(_LENGTH.pack(len(work)) + work)
    while data:
        data = data[os.write(fd, data) :]


def next_work(fd: int, seconds: Optional[float] = None) -> Optional[bytes]:
    """The next piece of work; None if none comes within `seconds` (None: no limit) or the pipe has closed."""
    # Not select(), which refuses descriptors from 1,024 on.
    waiting = select.poll()
    waiting.register(fd, select.POLLIN)
    if not waiting.poll(None if seconds is None else seconds * 1000):
        return None
    header = _read_exactly(fd, _LENGTH.size)
    return None if header is None else _read_exactly(fd, _LENGTH.unpack(header)[0])


def _read_exactly(fd: int, size: int) -> Optional[bytes]:
    data = bytearray()
    while len(data) < size:
        part = os.read(fd, size - len(data))
        if not part:
            return None
        data += part
    return bytes(data)


class _Mine(threading.local):
    worker: Optional[Worker] = None
    key: Any = None


_mine = _Mine()
# Counts events that children forked earlier do not know of.
_generation = 0


def forget() -> None:
    """Give no worker of any thread more work: its state is about to become wrong."""
    global _generation
    _generation += 1


def compile_in_child(
    variant: str,
    compile_: Compile,
    src: Any,
    args: tuple,
    kwargs: dict,
    time_limit: float,
    memory_limit_mb: Optional[int],
) -> Outcome:
    """Run ``compile_(src, *args, **kwargs)`` in a child, and return its outcome, the shims that acted in it, and its
    warnings.

    Args:
        variant: names the way to compile; `compile_` is the same for the same name.
        time_limit: seconds of wall time.
        memory_limit_mb: resident memory of the child in MiB, or None.

    Raises:
        OSError: the fork or a pipe failed.
    """
    worker, key = _mine.worker, (_generation, variant, _key(src))
    _mine.worker = None
    limits = time_limit, memory_limit_mb
    if worker is not None:
        if (
            key == _mine.key
            and worker.usable()
            and _given(worker, _packed(src, args, kwargs))
            and (outcome := _outcome(worker, key, limits)).kind not in _MAY_BE_THE_CHILDS
        ):
            return outcome
        worker.kill()
    try:
        for _ in range(2):
            fresh = Worker(
                lambda: compile_(src, *args, **kwargs),
                lambda work: _unpacked(compile_, src, work),
            )
            outcome = _outcome(fresh, key, limits)
            # It is unknown how it ended. The second child has a monitor, which knows.
            if not outcome.gone:
                break
        return outcome
    finally:
        # It is dead by now: the system takes as long to free its memory as to fork.
        if worker is not None:
            worker.end()


def _outcome(worker: Worker, key: tuple, limits: tuple) -> Outcome:
    """The outcome of the work. The worker is kept if it can be given more, else ended."""
    keep = False
    try:
        outcome = worker.outcome(*limits)
        # After an exception too it may be in an unforeseen state.
        keep = outcome.kind == "returned" and key[-1] is not None
    finally:
        if keep:
            _mine.worker, _mine.key = worker, key
        else:
            worker.end()
    return outcome


def _given(worker: Worker, work: Optional[bytes]) -> bool:
    if work is None:
        return False
    try:
        worker.give(work)
    except OSError:
        return False
    return True


def _key(src: Any) -> Any:
    """State that a worker was forked with and the parent may have changed since; None if that is not known."""
    kernel = getattr(src, "fn", None)
    if kernel is None or not hasattr(kernel, "cache_key"):
        return None
    return type(src), id(kernel), kernel.cache_key, dict(os.environ), _knobs()


def _knobs() -> Any:
    module = features.knobs()
    return None if module is None else {k: repr(vars(v)) for k, v in _groups(module)}


def _groups(module: Any) -> Iterator[tuple]:
    for name, value in vars(module).items():
        if as_tritons(type(value).__module__) == "triton.knobs" and hasattr(value, "__dict__"):
            yield name, value


def _packed(src: Any, args: tuple, kwargs: dict) -> Optional[bytes]:
    """The work as bytes, without the kernel, which the worker has; None if some part cannot be sent."""
    state = {name: value for name, value in vars(src).items() if name != "fn"}
    try:
        return pickle.dumps((state, args, kwargs), pickle.HIGHEST_PROTOCOL)
    except Exception:
        # Each kind of object fails to be pickled in its own way.
        return None


def _unpacked(compile_: Compile, first: Any, work: bytes) -> Any:
    state, args, kwargs = pickle.loads(work)
    src = object.__new__(type(first))
    vars(src).update(state, fn=first.fn)
    return compile_(src, *args, **kwargs)
