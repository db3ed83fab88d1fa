"""Run a function in a forked child, and live through whatever happens to it.

The compiler may abort, segfault, hang or eat the machine's memory; a suite's kernel may call ``os._exit``. Each of
these becomes an `Outcome`. The child gets its own process group and its output on a pipe that is always drained, so
50 MB on stderr neither block it nor fill the parent. If the parent dies the child is killed (Linux). What the child
started dies with its process group; a daemon that left the group on purpose does not.
"""

import contextlib
import ctypes
import faulthandler
import gc
import os
import pickle
import resource
import selectors
import signal
import struct
import sys
import time
import traceback
import warnings
from dataclasses import dataclass, field
from typing import Any, Callable, Iterable, Iterator, List, Optional, Tuple

from . import monitor

# First and last part of what a child printed: the assertion is near the end, its cause may be at the start.
KEPT_OUTPUT = 32 * 1024
POLL_SECONDS = 0.05
_PR_SET_PDEATHSIG = 1
# A mark, so that what a kernel writes into a pipe that is not its own is not taken for a length.
_MARK = b"\x93crosswarp"
_HEADER = struct.Struct(f"!{len(_MARK)}scQ")
# A pipe holds no more (Linux: 1 MiB), so what comes beyond was written by what outlived the child.
_LEFT_IN_A_PIPE = 1 << 20


@dataclass
class Raised:
    """A Python exception that ended the child: its type's name, its text, its traceback as text."""

    type_name: str
    text: str
    traceback: str


@dataclass
class Outcome:
    """How a child ended.

    Attributes:
        kind: ``returned``, ``raised``, ``signal``, ``exit`` (ended without a result), ``timeout``, ``memory``, or
            ``unreadable`` (what came through its pipe is no result of ours, or of a class that is not known here).
        value: what the function returned.
        raised: the exception, for ``raised``.
        reason: ``SIGABRT``, ``exit 0``, ``12 s``, ``4096 MiB``: for people and records.
        output: what it printed on stdout and stderr, first and last `KEPT_OUTPUT` bytes.
        seconds: wall time from fork to end.
        gone: whether nobody knows how it ended, because another part of this process has taken the child's status
            (`monitor`). That is an ``exit`` as well; the next child will have a monitor.
    """

    kind: str
    value: Any = None
    raised: Optional[Raised] = None
    reason: str = ""
    output: str = ""
    seconds: float = 0.0
    gone: bool = False


@dataclass
class _Kept:
    """The first and last `KEPT_OUTPUT` bytes of a stream."""

    head: bytearray = field(default_factory=bytearray)
    tail: bytearray = field(default_factory=bytearray)
    dropped: int = 0

    def feed(self, data: bytes) -> None:
        room = KEPT_OUTPUT - len(self.head)
        if room > 0:
            self.head += data[:room]
            data = data[room:]
        self.tail += data
        if len(self.tail) > KEPT_OUTPUT:
            self.dropped += len(self.tail) - KEPT_OUTPUT
            del self.tail[:-KEPT_OUTPUT]

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
    """Run ``function(send)`` in a forked child and say how that ended.

    Args:
        function: its result must be picklable. ``send(message)`` hands a picklable message to `on_message` in the
            parent at once, so that it survives whatever happens next.
        time_limit: seconds of wall time; then the child and what it started are killed.
        memory_limit_mb: resident memory of the child in MiB, looked at every 50 ms; None for no limit.
        on_message: called in the parent for each message.
        anew: whether the time limit begins anew with each message: it is then the time for one step of several.

    Raises:
        OSError: the fork or a pipe failed. KeyboardInterrupt is passed on after the child is killed.
    """
    started = time.monotonic()
    child = fork(lambda send: [function(send)])
    try:
        return child.watch(started, time_limit, memory_limit_mb, on_message, anew=anew)
    finally:
        child.end()


@dataclass
class Child:
    """A forked child, seen from its parent; `pid` is its monitor's where it has one, and its group's in any case."""

    pid: int
    result_fd: int
    output_fd: int
    told: Optional[monitor.Told] = None
    _buffer: bytearray = field(default_factory=bytearray)
    # Why the rest of what comes through the pipe cannot be read.
    _unreadable: str = ""

    def watch(
        self,
        started: float,
        time_limit: float,
        memory_limit_mb: Optional[int] = None,
        on_message: Optional[Callable[[Any], None]] = None,
        until_result: bool = False,
        anew: bool = False,
    ) -> Outcome:
        """Wait for the end of the child, or for its next result, and say what came."""
        since = started

        def heard(message: Any) -> None:
            nonlocal since
            if anew:
                since = time.monotonic()
            if on_message is not None:
                on_message(message)

        kept = _Kept()
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
                        kept.feed(data)
                    else:
                        result = self._frames(data, heard) or result
                if until_result and (result is not None or self._unreadable):
                    break
                # Both pipes closed: the end is near, wait for it rather than poll. A daemon may hold them open.
                wait = not selector.get_map()
                if wait and result is None:
                    wait = False
                    time.sleep(0.001)
                ended, status = self._ended(wait)
                if ended:
                    break
                pid = self.pid if self.told is None else self.told.pid
                stopped = _limits(pid, since, time_limit, memory_limit_mb)
                if stopped is not None:
                    break
            if status is not None:
                # What it left behind could go on writing for ever.
                self.kill()
            for data in _left(self.output_fd):
                kept.feed(data)
            for data in _left(self.result_fd) if result is None else ():
                result = self._frames(data, heard) or result
        outcome = stopped or result or _ended(status)
        # A signal says more.
        if self._unreadable and stopped is None and _ended(status).kind != "signal":
            outcome = Outcome("unreadable", reason=self._unreadable)
        outcome.output = kept.text()
        outcome.seconds = time.monotonic() - started
        return outcome

    def alive(self) -> bool:
        """Whether the child has not ended."""
        return not self._ended(False)[0]

    def _ended(self, wait: bool) -> Tuple[bool, Optional[int]]:
        """Whether the child has ended, and how, as of `os.waitpid`; None if that is gone.

        Raises:
            OSError: its monitor could not fork it.
        """
        if self.told is not None:
            self.told.look(POLL_SECONDS if wait else 0)
            return self.told.ended, self.told.status
        try:
            done, status = os.waitpid(self.pid, 0 if wait else os.WNOHANG)
        except ChildProcessError:
            monitor.note_gone()
            return True, None
        return bool(done), status if done else None

    def _frames(self, data: bytes, on_message) -> Optional[Outcome]:
        """Take the whole frames out of what came: messages are handed on, a result is returned."""
        if self._unreadable:
            return None
        buffer = self._buffer
        buffer += data
        result = None
        while len(buffer) >= _HEADER.size and not self._unreadable:
            mark, kind, length = _HEADER.unpack_from(buffer)
            if mark != _MARK:
                self._unreadable = "something else wrote into the pipe of its results"
                break
            if len(buffer) < _HEADER.size + length:
                break
            frame = bytes(buffer[_HEADER.size : _HEADER.size + length])
            del buffer[: _HEADER.size + length]
            try:
                payload = pickle.loads(frame)
            except Exception as error:
                # An object of a class that only the child knows, or one that does not survive the way.
                self._unreadable = f"its result cannot be read ({type(error).__name__})"
                break
            if kind == b"M":
                if on_message is not None:
                    on_message(payload)
            elif kind == b"R":
                result = Outcome("returned", value=payload)
            else:
                result = Outcome("raised", raised=payload, reason=payload.type_name)
        return result

    def kill(self) -> None:
        """Kill the child, with what it started (ptxas, a stray process)."""
        with contextlib.suppress(OSError):
            os.killpg(self.pid, signal.SIGKILL)

    def end(self) -> None:
        """Kill the child, with what it started, and wait until it is gone."""
        self.kill()
        with contextlib.suppress(OSError):
            os.waitpid(self.pid, 0)
        self.close()

    def close(self) -> None:
        """Close the pipes from the child."""
        os.close(self.result_fd)
        os.close(self.output_fd)
        if self.told is not None:
            os.close(self.told.fd)


def fork(function: Callable[[Callable[[Any], None]], Iterable[Any]]) -> Child:
    """Fork a child that runs ``function(send)`` and answers with each item of what that returns.

    An exception ends the child, also one in the making of an item.

    Raises:
        OSError: there is no room for another process, or for its pipes.
    """
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    libc = _libc()
    parent = os.getpid()
    reads: List[int] = []
    writes: List[int] = []
    try:
        # Results, output, and how it ended, where that has to be told.
        for _ in range(3 if monitor.needed() else 2):
            read, write = os.pipe()
            reads.append(read)
            writes.append(write)
        with warnings.catch_warnings():
            # Python 3.12 warns of every fork in a process with threads. The child only compiles, then leaves by _exit.
            warnings.simplefilter("ignore", DeprecationWarning)
            pid = os.fork()
    except BaseException:
        for fd in reads + writes:
            os.close(fd)
        raise
    if pid == 0:
        try:
            for fd in reads:
                os.close(fd)
            _in_group_of_its_own(libc, parent)
            if len(writes) == 3:
                parent = monitor.become(writes.pop(), tuple(writes))
                _die_with(libc, parent)
            _child(function, *writes)
        finally:
            os._exit(70)
    for fd in writes:
        os.close(fd)
    with contextlib.suppress(OSError):
        os.setpgid(pid, pid)
    for fd in reads:
        os.set_blocking(fd, False)
    return Child(pid, reads[0], reads[1], monitor.Told(reads[2]) if len(reads) == 3 else None)


def die_with_parent() -> None:
    """Have this process killed when the one that started it dies, however it dies (Linux; elsewhere nothing)."""
    libc = _libc()
    if libc is not None:
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _libc():
    with contextlib.suppress(OSError, AttributeError):
        return ctypes.CDLL(None) if sys.platform == "linux" else None
    return None


def _in_group_of_its_own(libc: Any, parent: int) -> None:
    # What the parent left to its garbage collector may be a compiler's context, whose destructor waits for threads that
    # a fork does not copy: here it is never collected.
    gc.freeze()
    with contextlib.suppress(OSError):
        os.setpgid(0, 0)
    _die_with(libc, parent)


def _die_with(libc: Any, parent: int) -> None:
    if libc is not None:
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(70)


def _child(function, result_fd, output_fd) -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    # Where it is ignored nobody learns how a process has ended that is started here, ptxas for one.
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    # pytest points faulthandler at its own stderr: the dying child would write over the run's progress.
    faulthandler.disable()
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.dup2(output_fd, 1)
    os.dup2(output_fd, 2)
    os.close(output_fd)
    # Captured streams of a test runner are objects of the parent: write to the pipe instead.
    sys.stdout = open(
        1, "w", encoding="utf-8", errors="backslashreplace", closefd=False, buffering=1
    )
    sys.stderr = open(
        2, "w", encoding="utf-8", errors="backslashreplace", closefd=False, buffering=1
    )

    def send(message: Any) -> None:
        _write(result_fd, b"M", pickle.dumps(message))

    child = os.getpid()

    def answer(kind: bytes, value: Any) -> None:
        if os.getpid() != child:
            # A fork of the child that came back here as well.
            os._exit(0)
        payload = pickle.dumps(value)
        with contextlib.suppress(BaseException):
            sys.stdout.flush()
            sys.stderr.flush()
        _write(result_fd, kind, payload)

    try:
        for value in function(send):
            answer(b"R", value)
    except BaseException as error:
        answer(b"E", _raised(error))
    os._exit(0)


def _raised(error: BaseException) -> Raised:
    """As text, whatever its class does when it is asked for some."""
    try:
        # Of a class of its own, if __str__ returns one: as exact text.
        text = str.__str__(str(error))
    except BaseException as another:
        text = f"<without text: {type(another).__name__}>"
    name = str.__str__(type.__dict__["__name__"].__get__(type(error)))
    try:
        told = traceback.format_exc()
    except BaseException:
        told = f"{name}: {text}"
    return Raised(name, text, told)


def _write(fd: int, kind: bytes, payload: bytes) -> None:
    data = memoryview(_HEADER.pack(_MARK, kind, len(payload)) + payload)
    while data:
        data = data[os.write(fd, data) :]


def _read(fd: int) -> bytes:
    try:
        return os.read(fd, 1 << 16)
    except BlockingIOError:
        return b""


def _left(fd: int) -> Iterator[bytes]:
    """What a pipe still holds."""
    left = _LEFT_IN_A_PIPE
    while left > 0 and (data := _read(fd)):
        left -= len(data)
        yield data


def _limits(
    pid: Optional[int], started: float, time_limit: float, memory_limit_mb: Optional[int]
) -> Optional[Outcome]:
    if time.monotonic() - started > time_limit:
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
