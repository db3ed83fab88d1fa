"""Locks for folders that several runs share and one may rebuild: a folder is in use or being made, never both.

A lock is a file beside the folder. It ends with the process that holds it, however that ends.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable
from pathlib import Path

_POLL = 0.1


class Stopped(Exception):
    """Nobody waits for the folder any more."""


class Hold:
    """A lock that is held. `release` may be called twice, and from any thread."""

    def __init__(self, handle: int | None) -> None:
        self._handle: int | None = handle

    def release(self) -> None:
        handle, self._handle = self._handle, None
        if handle is not None:
            os.close(handle)

    # Nobody is left who could release it, and this process would wait for itself.
    __del__ = release


def use(path: Path, waiting: Callable[[], None], stopped: Callable[[], bool]) -> Hold:
    """Returns a shared lock: the folder stays as it is while it is held; several may hold it.

    `waiting` is called once when another run is making the folder anew, and `stopped` is asked while that lasts.

    Raises:
        Stopped: `stopped` said so. OSError: the lock's file cannot be written, or the file system has no locks.
    """
    return _hold(path, fcntl.LOCK_SH, waiting, stopped)


def change(path: Path, waiting: Callable[[], None], stopped: Callable[[], bool]) -> Hold:
    """Nobody else uses the folder or changes it while this is held. As `use` otherwise."""
    return _hold(path, fcntl.LOCK_EX, waiting, stopped)


def try_change(path: Path) -> Hold | None:
    """As `change`, or None where it is in use. Raises OSError."""
    try:
        return change(path, _give_up, lambda: False)
    except Stopped:
        return None


def _give_up() -> None:
    raise Stopped


def _hold(path: Path, kind: int, waiting: Callable[[], None], stopped: Callable[[], bool]) -> Hold:
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    announced = False
    try:
        while True:
            try:
                # Never blocking: a thread that waits in the kernel would not notice the end of the run.
                fcntl.flock(handle, kind | fcntl.LOCK_NB)
                return Hold(handle)
            except BlockingIOError:
                pass
            if not announced:
                waiting()
                announced = True
            if stopped():
                raise Stopped
            time.sleep(_POLL)
    except BaseException:
        os.close(handle)
        raise
