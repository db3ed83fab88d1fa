"""Who runs beside whom: items run beside each other, and one that was too slow runs again alone.

The next lane's workers begin to import while the last items of a lane run, so more workers may be ready than there are
cores to work on: whoever has an item takes one first.

Between the workers of one run there are two locks on files. Whoever starts passes the gate and takes a share of the
room. Whoever is to be alone keeps the gate shut, waits until the others have left, and has the room to itself. A lock
goes with the process that holds it, however that ends.
"""

import contextlib
import fcntl
import os
import time
from typing import Iterable, Iterator, Optional

_ASKS_AGAIN = 0.002


@contextlib.contextmanager
def core(path: str, cores: int) -> Iterator[None]:
    """With one of so many cores, as soon as one is free; `path` is where a file for each of them may lie."""
    with contextlib.ExitStack() as stack:
        files = [stack.enter_context(_opened(f"{path}.core-{one}")) for one in range(cores)]
        while (mine := _free(files)) is None:
            time.sleep(_ASKS_AGAIN)
        # Said, and not left to the closing: what was forked meanwhile may have the file open still.
        stack.callback(fcntl.flock, mine, fcntl.LOCK_UN)
        yield


def _free(files: Iterable[int]) -> Optional[int]:
    """One of the files that nobody held, and that is held now."""
    for file in files:
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return file
    return None


@contextlib.contextmanager
def beside(path: str) -> Iterator[None]:
    """With others beside; `path` is where the two files of this run may lie."""
    with _held(f"{path}.gate", fcntl.LOCK_EX) as gate, _opened(f"{path}.room") as room:
        fcntl.flock(room, fcntl.LOCK_SH)
        fcntl.flock(gate, fcntl.LOCK_UN)
        try:
            yield
        finally:
            fcntl.flock(room, fcntl.LOCK_UN)


@contextlib.contextmanager
def alone(path: str) -> Iterator[None]:
    """With nobody beside: those that run are waited for, and those that come wait."""
    with _held(f"{path}.gate", fcntl.LOCK_EX), _held(f"{path}.room", fcntl.LOCK_EX):
        yield


@contextlib.contextmanager
def _held(path: str, how: int) -> Iterator[int]:
    with _opened(path) as file:
        fcntl.flock(file, how)
        try:
            yield file
        finally:
            # Said, and not left to the closing: what was forked meanwhile may have the file open still.
            fcntl.flock(file, fcntl.LOCK_UN)


@contextlib.contextmanager
def _opened(path: str) -> Iterator[int]:
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        yield file
    finally:
        os.close(file)
