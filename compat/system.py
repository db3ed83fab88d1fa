"""The system calls of crash isolation, as they were when this was imported.

A test may replace ``os._exit`` or ``os.waitpid`` in the process that it runs in. A child that cannot leave would come
back from the fork as if it were its parent.
"""

from __future__ import annotations

import os
import signal
import time
from typing import Tuple

leave = os._exit
fork = os.fork
waitpid = os.waitpid
kill, killpg = os.kill, os.killpg
getpid, getppid, setpgid = os.getpid, os.getppid, os.setpgid
close, dup2, read, write = os.close, os.dup2, os.read, os.write
set_blocking = os.set_blocking
set_handler, get_handler = signal.signal, signal.getsignal
sleep, monotonic = time.sleep, time.monotonic
_pipe, _dup = os.pipe, os.dup


def pipe() -> Tuple[int, int]:
    """Both ends of a new pipe, above the standard streams: where those are closed, a child would overwrite the pipe."""
    ends, low = list(_pipe()), []
    try:
        for at, fd in enumerate(ends):
            while ends[at] < 3:
                low.append(ends[at])
                ends[at] = _dup(fd)
    except BaseException:
        for fd in ends:
            if fd not in low:
                close(fd)
        raise
    finally:
        for fd in low:
            close(fd)
    for fd in ends:
        os.set_inheritable(fd, False)
    return ends[0], ends[1]
