"""How a process lives through the strange code that its children run: signals that they send, processes they leave."""

import contextlib
import ctypes
import os
import signal
import sys
from typing import List

_PR_SET_CHILD_SUBREAPER = 36
# Signals that others send to end or stop a process. Other signals say that something is broken here.
_FROM_OUTSIDE = (
    "SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGALRM", "SIGVTALRM", "SIGPROF",
    "SIGTSTP", "SIGTTIN", "SIGTTOU", "SIGIO", "SIGXCPU", "SIGPWR", "SIGSTKFLT",
)  # fmt: skip
# System calls as they were: a kernel may replace those of the module.
_kill, _waitpid, _getsid, _getpid = os.kill, os.waitpid, os.getsid, os.getpid
_listdir, _open = os.listdir, open


def endure() -> None:
    """Ignore signals that a kernel may send to its parent, and become the parent of processes that it leaves behind.

    A forked child gets the usual signal handlers back. The supervisor ends this process by SIGKILL.
    """
    numbers = [getattr(signal, name) for name in _FROM_OUTSIDE if hasattr(signal, name)]
    for number in numbers:
        signal.signal(number, signal.SIG_IGN)

    def as_before(set_to=signal.signal, default=signal.SIG_DFL) -> None:
        for number in numbers:
            set_to(number, default)

    os.register_at_fork(after_in_child=as_before)
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def end_strays() -> None:
    """Kill the children of this process that are in another session: their parent was a case, and is gone."""
    session = _getsid(0)
    for _ in range(100):
        strays = [pid for pid in _children() if _session(pid) not in (session, None)]
        if not strays:
            return
        for pid in strays:
            with contextlib.suppress(OSError):
                _kill(pid, signal.SIGKILL)
                # Its children are ours from now on: the next iteration finds them.
                _waitpid(pid, 0)


def _children() -> List[int]:
    pids: List[int] = []
    with contextlib.suppress(OSError):
        for thread in _listdir("/proc/self/task"):
            with contextlib.suppress(OSError), _open(f"/proc/self/task/{thread}/children") as file:
                pids += map(int, file.read().split())
    return pids


def _session(pid: int):
    try:
        return _getsid(pid)
    except OSError:
        return None
