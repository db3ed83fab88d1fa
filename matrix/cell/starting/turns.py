"""Decide which items run at the same time: items run in parallel, and one that was too slow runs again alone.

The next lane's workers begin to import while the last items of a lane run, so there may be more ready workers than
cores. A worker with an item gets a core first.

The workers of one run share two file locks. A worker that starts an item passes the gate and gets a shared lock on the
room. One that must be alone keeps the gate locked, waits until the others have left, and gets the room exclusively. A
lock is released when the process that holds it ends, in any way.
"""

import contextlib
import fcntl
import os
import time
from typing import Iterable, Iterator, Optional

_ASKS_AGAIN = 0.002


@contextlib.contextmanager
def core(path: str, cores: int) -> Iterator[None]:
    """Run the body with one of `cores`, as soon as one is free; `path` is the prefix of a lock file for each."""
    with contextlib.ExitStack() as stack:
        files = [stack.enter_context(_opened(f"{path}.core-{number}")) for number in range(cores)]
        while (mine := _free(files)) is None:
            time.sleep(_ASKS_AGAIN)
        # Unlocked explicitly: a process forked meanwhile may still have the file open.
        stack.callback(fcntl.flock, mine, fcntl.LOCK_UN)
        yield


def _free(files: Iterable[int]) -> Optional[int]:
    """Lock one of the free files and return it."""
    for file in files:
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return file
    return None


@contextlib.contextmanager
def beside(path: str) -> Iterator[None]:
    """Run the body in parallel with others; `path` is the prefix of this run's two lock files."""
    with _held(f"{path}.gate", fcntl.LOCK_EX) as gate, _opened(f"{path}.room") as room:
        fcntl.flock(room, fcntl.LOCK_SH)
        fcntl.flock(gate, fcntl.LOCK_UN)
        try:
            yield
        finally:
            fcntl.flock(room, fcntl.LOCK_UN)


@contextlib.contextmanager
def alone(path: str) -> Iterator[None]:
    """Run the body alone: wait for the running items, and let new ones wait."""
    with _held(f"{path}.gate", fcntl.LOCK_EX), _held(f"{path}.room", fcntl.LOCK_EX):
        yield


@contextlib.contextmanager
def _held(path: str, how: int) -> Iterator[int]:
    with _opened(path) as file:
        fcntl.flock(file, how)
        try:
            yield file
        finally:
            # Unlocked explicitly: a process forked meanwhile may still have the file open.
            fcntl.flock(file, fcntl.LOCK_UN)


@contextlib.contextmanager
def _opened(path: str) -> Iterator[int]:
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        yield file
    finally:
        os.close(file)
