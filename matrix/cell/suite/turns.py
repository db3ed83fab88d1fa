"""Who runs beside whom: items run beside each other, and one that was too slow runs again alone.

Between the workers of one run there are two locks on files. Whoever starts passes the gate and takes a share of the
room. Whoever is to be alone keeps the gate shut, waits until the others have left, and has the room to itself. A lock
goes with the process that holds it, however that ends.
"""

import contextlib
import fcntl
import os
from typing import Iterator


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
