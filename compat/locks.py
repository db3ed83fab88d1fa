"""Locks for compiling: eight ranks that start at once on a cold cache compile each kernel once, while others wait.

The lock is flock's: it goes with the process that holds it, however that ends. There are a fixed number of lock files,
so that they do not pile up; two kernels that share one wait for each other, which costs time and never a result.
"""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path
from typing import Iterator, Optional

# Digits of the key, in base 16, that name a lock: 4,096 files.
_DIGITS = 3
_FIRST_PAUSE, _LONGEST_PAUSE = 0.001, 0.05


@contextlib.contextmanager
def held(folder: Optional[Path], key: str, seconds: float) -> Iterator[Optional[bool]]:
    """Hold the lock of `key`, waiting for it at most `seconds`.

    Yields True if another process had it first (it may have done the work meanwhile), False if it was free, None if it
    could not be taken: too late, no such file system, or no folder. Then go on without: the work is done twice, and
    nothing waits.
    """
    fd = _opened(folder, key)
    if fd is None:
        yield None
        return
    try:
        yield _locked(fd, seconds)
    finally:
        # Closing it unlocks, as soon as a child that was forked meanwhile has closed its copy or ended.
        with contextlib.suppress(OSError):
            _unlock(fd)
        os.close(fd)


def _opened(folder: Optional[Path], key: str) -> Optional[int]:
    if folder is None:
        return None
    try:
        import fcntl  # noqa: F401

        folder.mkdir(parents=True, exist_ok=True)
        return os.open(folder / f"{key[:_DIGITS]}.lock", os.O_RDWR | os.O_CREAT, 0o666)
    except (ImportError, OSError):
        return None


def _locked(fd: int, seconds: float) -> Optional[bool]:
    import fcntl

    until, pause, waited = time.monotonic() + seconds, _FIRST_PAUSE, False
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return waited
        except BlockingIOError:
            if time.monotonic() > until:
                return None
        except OSError:
            return None
        waited = True
        time.sleep(pause)
        pause = min(pause * 2, _LONGEST_PAUSE)


def _unlock(fd: int) -> None:
    import fcntl

    fcntl.flock(fd, fcntl.LOCK_UN)
