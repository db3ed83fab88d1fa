"""The status of a child, in a process that does not keep its children's statuses for those who ask.

A server may ignore SIGCHLD, or wait for any child that ends, in a handler or in a thread: then a child's status is gone
before we ask for it. There a child gets a monitor between it and us: a fork that only waits for the child, and reports
its end on a pipe of ours. That costs a second fork, so it is done only where SIGCHLD is not at its default, and
where a status was gone before.
"""

from __future__ import annotations

import os
import select
import signal
import struct
from typing import Optional, Tuple

from . import system

_RECORD = struct.Struct("!cq")
# The child's process id, its status as of `os.waitpid`, or the errno with which it could not be forked.
_PID, _STATUS, _ERRNO = b"P", b"S", b"E"

_gone = False


def needed() -> bool:
    """Whether somebody else may take the status of a child of this process."""
    return _gone or system.get_handler(signal.SIGCHLD) != signal.SIG_DFL


def note_gone() -> None:
    """Note that another part of this process took a child's status: from here on children get monitors."""
    global _gone
    _gone = True


def become(status_fd: int, others: Tuple[int, ...]) -> int:
    """In a fresh fork: be the monitor of a fork of this one. Returns in that one only, the monitor's process id.

    Args:
        status_fd: where to report its end.
        others: descriptors that only the child holds open, so that they are closed when it has ended.
    """
    me = system.getpid()
    system.set_handler(signal.SIGCHLD, signal.SIG_DFL)
    try:
        pid = system.fork()
    except OSError as error:
        system.write(status_fd, _RECORD.pack(_ERRNO, error.errno or 0))
        system.leave(0)
    if pid == 0:
        system.close(status_fd)
        return me
    try:
        for fd in others:
            system.close(fd)
        system.write(status_fd, _RECORD.pack(_PID, pid))
        system.write(status_fd, _RECORD.pack(_STATUS, system.waitpid(pid, 0)[1]))
    finally:
        system.leave(0)


class Reports:
    """A monitor's reports so far, on `fd`, which does not block.

    Attributes:
        pid: the child's process id, once it is known.
        status: how it ended, as of `os.waitpid`.
        ended: whether it has; without a status if the monitor itself was killed.
    """

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self.pid: Optional[int] = None
        self.status: Optional[int] = None
        self.ended = False
        self._buffer = b""

    def look(self, seconds: float) -> None:
        """Read its reports, waiting at most `seconds` for them.

        Raises:
            OSError: the monitor could not fork.
        """
        # Not select(), which refuses descriptors from 1,024 on.
        waiting = select.poll()
        waiting.register(self.fd, select.POLLIN)
        if self.ended or not waiting.poll(seconds * 1000):
            return
        try:
            data = system.read(self.fd, 1 << 12)
        except BlockingIOError:
            return
        self.ended = not data
        self._buffer += data
        while len(self._buffer) >= _RECORD.size:
            kind, number = _RECORD.unpack_from(self._buffer)
            self._buffer = self._buffer[_RECORD.size :]
            if kind == _ERRNO:
                self.ended = True
                raise OSError(number, os.strerror(number))
            if kind == _PID:
                self.pid = number
            else:
                self.status, self.ended = number, True
