"""Run a function in a forked child, and survive whatever happens to it.

The compiler may abort, segfault, hang or eat the machine's memory; a suite's kernel may call ``os._exit``. Each of
these becomes an `Outcome`. The child gets its own process group and its output on a pipe that is always drained, so
50 MB on stderr neither block it nor fill the parent. If the parent dies the child is killed (Linux). Processes that
the child started die with its process group; a daemon that left the group on purpose does not.

The parent trusts nothing of the child: it sends only data (`frames`), every wait has an end, and the system calls that
both need are kept apart from what a test may replace (`system`).
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import sys
import warnings
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, Tuple

from . import child, frames, monitor, system
from .child import die_with_parent as die_with_parent

# Bytes kept of a child's first and last output: the assertion is near the end, its cause may be at the start.
SHOWN_OUTPUT = 32 * 1024
POLL_SECONDS = 0.05
# Seconds to wait for a child that was killed. Only one that hangs inside a system call takes longer.
_DEATH_SECONDS = 10.0
# A pipe holds no more (Linux: 1 MiB), so any further bytes were written by a process that outlived the child.
_LEFT_IN_A_PIPE = 1 << 20


@dataclass
class Raised:
    """A Python exception that ended the child: its type's name, its text, its traceback as text."""

    type_name: str
    text: str
    traceback: str

    @classmethod
    def of(cls, data: Any) -> "Raised":
        """From the three texts that came from a child. Raises ValueError for anything else."""
        if not (isinstance(data, tuple) and list(map(type, data)) == [str, str, str]):
            msg = "not three texts"
            raise ValueError(msg)
        return cls(*data)


@dataclass
class Outcome:
    """The end of a child.

    Attributes:
        kind: ``returned``, ``raised``, ``signal``, ``exit`` (ended without a result), ``timeout``, ``memory``, or
            ``unreadable`` (the data in its pipe is no result of ours, or of a class that is not known here).
        value: the function's result.
        raised: the exception, for ``raised``.
        reason: ``SIGABRT``, ``exit 0``, ``12 s``, ``4096 MiB``: for people and records.
        output: its stdout and stderr, first and last `SHOWN_OUTPUT` bytes.
        seconds: wall time from fork to end.
        gone: whether it is unknown how it ended, because another part of this process took the child's status
            (`monitor`). That is an ``exit`` as well; the next child will have a monitor.
    """

    kind: str
    value: Any = None
    raised: Optional[Raised] = None
    reason: str = ""
    output: str = ""
    seconds: float = 0.0
    gone: bool = False

    def as_data(self) -> Dict[str, Any]:
        """This outcome as data, for a child that sends the outcome of a child it forked; its value has to be data
        too."""
        raised = self.raised
        texts = None if raised is None else (raised.type_name, raised.text, raised.traceback)
        return {**vars(self), "raised": texts}

    @classmethod
    def of_data(cls, data: Any) -> Optional["Outcome"]:
        """The outcome that `as_data` was made of; None if the data is of no outcome."""
        kinds = {"kind": str, "reason": str, "output": str, "seconds": float, "gone": bool}
        if not (isinstance(data, dict) and set(data) == set(cls.__dataclass_fields__)):
            return None
        if any(type(data[name]) is not kind for name, kind in kinds.items()):
            return None
        try:
            raised = None if data["raised"] is None else Raised.of(data["raised"])
        except ValueError:
            return None
        return cls(**{**data, "raised": raised})


@dataclass
class _HeadAndTail:
    """The first and last `SHOWN_OUTPUT` bytes of a stream."""

    head: bytearray = field(default_factory=bytearray)
    tail: bytearray = field(default_factory=bytearray)
    dropped: int = 0

    def feed(self, data: bytes) -> None:
        room = SHOWN_OUTPUT - len(self.head)
        if room > 0:
            self.head += data[:room]
            data = data[room:]
        self.tail += data
        if len(self.tail) > SHOWN_OUTPUT:
            self.dropped += len(self.tail) - SHOWN_OUTPUT
            del self.tail[:-SHOWN_OUTPUT]

    def text(self) -> str:
        gap = f"\n… {self.dropped} bytes left out …\n".encode() if self.dropped else b""
        return bytes(self.head + gap + self.tail).decode("utf-8", "replace")


def run_isolated(
    function: Callable[[Callable[[Any], None]], Any],
    *,
    time_limit: float,
    memory_limit_mb: Optional[int] = None,
    on_message: Optional[Callable[[Any], None]] = None,
    anew: bool = False,
) -> Outcome:
    """Run ``function(send)`` in a forked child and return how that ended.

    Args:
        function: its result must be data (`frames`). ``send(message)`` hands data to `on_message` in the parent at
            once, so that it survives whatever happens next.
        time_limit: seconds of wall time; then the child and the processes it started are killed.
        memory_limit_mb: resident memory of the child in MiB, looked at every 50 ms; None for no limit.
        on_message: called in the parent for each message.
        anew: whether each message restarts the time limit, which is then for one step of several.

    Raises:
        OSError: the fork or a pipe failed. KeyboardInterrupt is passed on after the child is killed.
    """
    started = system.monotonic()
    forked = fork(lambda send: [function(send)])
    try:
        return forked.watch(started, time_limit, memory_limit_mb, on_message, anew=anew)
    finally:
        forked.end()


@dataclass
class Child:
    """A forked child, seen from its parent; `pid` is its monitor's if it has one, and always its group's."""

    pid: int
    result_fd: int
    output_fd: int
    reports: Optional[monitor.Reports] = None
    _reader: frames.Reader = field(default_factory=frames.Reader)
    # It has ended, and its status was collected.
    _dead: bool = False

    def watch(
        self,
        started: float,
        time_limit: float,
        memory_limit_mb: Optional[int] = None,
        on_message: Optional[Callable[[Any], None]] = None,
        until_result: bool = False,
        anew: bool = False,
    ) -> Outcome:
        """Wait for the end of the child, or for its next result, and return which of them came."""
        since = started

        def heard(message: Any) -> None:
            nonlocal since
            if anew:
                since = system.monotonic()
            if on_message is not None:
                on_message(message)

        output = _HeadAndTail()
        result: Optional[Outcome] = None
        stopped: Optional[Outcome] = None
        status: Optional[int] = None
        ended = False
        with selectors.DefaultSelector() as selector:
            for fd in (self.result_fd, self.output_fd):
                selector.register(fd, selectors.EVENT_READ)
            while not ended:
                for key, _ in selector.select(POLL_SECONDS):
                    data = _read(key.fd)
                    if not data:
                        selector.unregister(key.fd)
                    elif key.fd == self.output_fd:
                        output.feed(data)
                    else:
                        result = self._frames(data, heard) or result
                if until_result and (result is not None or self._reader.unreadable):
                    break
                # Both pipes closed: the end is near. A daemon may hold them open.
                if not selector.get_map():
                    system.sleep(0.001)
                ended, status = self._ended()
                if ended:
                    break
                pid = self.pid if self.reports is None else self.reports.pid
                stopped = _limits(pid, since, time_limit, memory_limit_mb)
                if stopped is not None:
                    break
            if status is not None:
                # Processes that it left behind could go on writing for ever.
                self.kill()
            for data in _left(self.output_fd):
                output.feed(data)
            for data in _left(self.result_fd) if result is None else ():
                result = self._frames(data, heard) or result
        outcome = stopped or result or _ended(status)
        # A signal is more specific.
        if self._reader.unreadable and stopped is None and _ended(status).kind != "signal":
            outcome = Outcome("unreadable", reason=self._reader.unreadable)
        outcome.output = output.text()
        outcome.seconds = system.monotonic() - started
        return outcome

    def alive(self) -> bool:
        """Whether the child has not ended."""
        return not self._ended()[0]

    def _ended(self) -> Tuple[bool, Optional[int]]:
        """Whether the child has ended, and its status, as of `os.waitpid`; None if that is gone.

        Raises:
            OSError: its monitor could not fork it.
        """
        if self.reports is not None:
            self.reports.look(0)
            return self.reports.ended, self.reports.status
        try:
            done, status = system.waitpid(self.pid, os.WNOHANG)
        except ChildProcessError:
            monitor.note_gone()
            self._dead = True
            return True, None
        self._dead = bool(done)
        return self._dead, status if done else None

    def _frames(self, data: bytes, on_message: Callable[[Any], None]) -> Optional[Outcome]:
        """Take the complete frames out of the bytes read: pass messages to `on_message`, return a result."""
        result = None
        for kind, value in self._reader.feed(data):
            if kind == frames.MESSAGE:
                try:
                    on_message(value)
                except (TypeError, ValueError, KeyError) as error:
                    # Not a message of the expected form: other code in the child has sent it.
                    self._reader.unreadable = f"a message of another form ({type(error).__name__})"
            elif kind == frames.RESULT:
                result = Outcome("returned", value=value)
            elif kind == frames.RAISED:
                try:
                    raised = Raised.of(value)
                except ValueError:
                    self._reader.unreadable = "its exception cannot be read"
                else:
                    result = Outcome("raised", raised=raised, reason=raised.type_name)
            else:
                self._reader.unreadable = f"its result is no data ({str(value)[:200]})"
        return result

    def kill(self) -> None:
        """Kill the child and the processes it started (ptxas, a stray process)."""
        with contextlib.suppress(OSError):
            system.killpg(self.pid, signal.SIGKILL)
        # It may have left its group. The number of a child that has ended may belong to another process by now.
        alone = [] if self._dead else [self.pid]
        if self.reports is not None and self.reports.pid is not None and not self.reports.ended:
            alone.append(self.reports.pid)
        for pid in alone:
            with contextlib.suppress(OSError):
                system.kill(pid, signal.SIGKILL)

    def end(self) -> None:
        """Kill the child and the processes it started, and wait until it is gone."""
        self.kill()
        until, pause = system.monotonic() + _DEATH_SECONDS, 0.0005
        while not self._dead and system.monotonic() < until:
            try:
                self._dead = bool(system.waitpid(self.pid, os.WNOHANG)[0])
            except OSError:
                self._dead = True
            if not self._dead:
                system.sleep(pause)
                pause = min(pause * 2, POLL_SECONDS)
        self.close()

    def close(self) -> None:
        """Close the pipes from the child."""
        system.close(self.result_fd)
        system.close(self.output_fd)
        if self.reports is not None:
            system.close(self.reports.fd)


def fork(function: Callable[[Callable[[Any], None]], Iterable[Any]]) -> Child:
    """Fork a child that runs ``function(send)`` and sends each item of the iterable that it returns.

    An exception ends the child, even one raised while an item is made.

    Raises:
        OSError: there is no room for another process, or for its pipes.
    """
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    libc = child.libc()
    parent = system.getpid()
    # A child whose globals are cleared must still be able to exit.
    leave = system.leave
    reads: List[int] = []
    writes: List[int] = []
    try:
        # Pipes for results, for output, and for the child's end if there is a monitor.
        for _ in range(3 if monitor.needed() else 2):
            read, write = system.pipe()
            reads.append(read)
            writes.append(write)
        with warnings.catch_warnings():
            # Python 3.12 warns of every fork in a process with threads. The child only compiles, then leaves by _exit.
            warnings.simplefilter("ignore", DeprecationWarning)
            pid = system.fork()
    except BaseException:
        for fd in reads + writes:
            system.close(fd)
        raise
    if pid == 0:
        try:
            for fd in reads:
                system.close(fd)
            child.in_group_of_its_own(libc, parent)
            if len(writes) == 3:
                parent = monitor.become(writes.pop(), tuple(writes))
                child.die_with(libc, parent)
            child.run(function, *writes)
        finally:
            leave(70)
    for fd in writes:
        system.close(fd)
    with contextlib.suppress(OSError):
        system.setpgid(pid, pid)
    for fd in reads:
        system.set_blocking(fd, False)
    return Child(pid, reads[0], reads[1], monitor.Reports(reads[2]) if len(reads) == 3 else None)


def _read(fd: int) -> bytes:
    try:
        return system.read(fd, 1 << 16)
    except BlockingIOError:
        return b""


def _left(fd: int) -> Iterator[bytes]:
    """The bytes that a pipe still holds."""
    left = _LEFT_IN_A_PIPE
    while left > 0 and (data := _read(fd)):
        left -= len(data)
        yield data


def _limits(
    pid: Optional[int], started: float, time_limit: float, memory_limit_mb: Optional[int]
) -> Optional[Outcome]:
    if system.monotonic() - started > time_limit:
        return Outcome("timeout", reason=f"{time_limit:g} s")
    if memory_limit_mb is not None and pid is not None and _resident_mb(pid) > memory_limit_mb:
        return Outcome("memory", reason=f"{memory_limit_mb} MiB")
    return None


def _resident_mb(pid: int) -> float:
    try:
        with open(f"/proc/{pid}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20
    except (OSError, IndexError, ValueError):
        return 0.0


def _ended(status: Optional[int]) -> Outcome:
    if status is None:
        return Outcome(
            "exit", reason="exit unknown, another part of this process took it", gone=True
        )
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        try:
            name = signal.Signals(number).name
        except ValueError:
            name = f"signal {number}"
        return Outcome("signal", reason=name)
    return Outcome("exit", reason=f"exit {os.WEXITSTATUS(status)}")
