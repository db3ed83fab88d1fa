"""``python -I -S supervisor.py PARENT GRACE COMMAND...``: run a command, and let nothing that it started outlive it.

A process between the host and a column's suite, where strange code runs. It imports nothing of ours, so that nothing
of the suite's can reach it. On Linux what a descendant leaves behind becomes its child, also behind `setsid`, and is
killed when the command ends, when the host asks (SIGTERM), and when the host is gone, however it went. A process of the
suite that was stopped from outside goes on. Its exit status, or the signal that ended it, is the command's.
"""

import ctypes
import os
import resource
import signal
import sys
import time

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
# Seconds between two looks at whether the host lives and whether a process of the suite was stopped.
_LOOKS = 1.0
_KILLED_WITHIN = 5.0


def main(parent: int, grace: float, command: list) -> None:
    libc = ctypes.CDLL(None) if sys.platform == "linux" else None
    # Before the fork, so that no signal is lost: they are waited for, and interrupt nothing.
    signals = signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}
    signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    if libc is not None:
        libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    suite = os.fork()
    if suite == 0:
        # A separate session, so that a kill of the suite's process group does not kill us.
        os.setsid()
        if libc is not None:
            libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        # Python ignores these, and ignored signals stay so in the next program.
        for ignored in (signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(ignored, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, signals)
        try:
            os.execv(command[0], command)
        except OSError as error:
            print(f"{command[0]}: {error.strerror}", file=sys.stderr, flush=True)
            os._exit(127)
    status = _watched(suite, parent)
    if status is None and grace:
        status = _ended_by_itself(suite, grace)
    _kill_all(suite, status is None)
    if status is None:
        os._exit(128 + signal.SIGTERM)
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, signals)
        os.kill(os.getpid(), number)
    os._exit(os.WEXITSTATUS(status))


def _watched(suite: int, parent: int):
    """How the command ended, as of `os.waitpid`; None where it is to be ended."""
    look = time.monotonic()
    while True:
        received = _next_signal((signal.SIGCHLD, signal.SIGTERM), _LOOKS)
        if os.getppid() != parent:
            return None
        # Only the host asks: a kernel may send a signal to every process that it finds.
        if (
            received is not None
            and received.si_signo == signal.SIGTERM
            and received.si_pid == parent
        ):
            return None
        status = _reaped(suite)
        if status is not None:
            return status
        if time.monotonic() - look >= _LOOKS:
            look = time.monotonic()
            for pid, _, group, state in _processes():
                # A case's child is in another group: a case that stops itself has its time limit.
                if group == suite and state == "T":
                    _signal(pid, signal.SIGCONT)


def _ended_by_itself(suite: int, grace: float):
    """As `_watched`, of a command that may end in good order within `grace` seconds."""
    _signal(suite, signal.SIGTERM)
    ends = time.monotonic() + grace
    while time.monotonic() < ends:
        _next_signal((signal.SIGCHLD,), ends - time.monotonic())
        status = _reaped(suite)
        if status is not None:
            return status
    return None


def _next_signal(wanted, seconds: float):
    if sys.platform == "linux":
        return signal.sigtimedwait(wanted, max(seconds, 0))
    # Where there is no waiting with a limit: a look from time to time.
    time.sleep(0.05)
    for number in wanted:
        if number in signal.sigpending():
            signal.sigwait((number,))
            if number == signal.SIGTERM:
                return _FromParent
    return None


class _FromParent:
    si_signo = signal.SIGTERM
    si_pid = os.getppid()


def _reaped(suite: int):
    """Collects ended processes; returns the command's status, if it is among them."""
    ended = None
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return ended
        if pid == 0:
            return ended
        if pid == suite:
            ended = status


def _kill_all(suite: int, alive: bool) -> None:
    """Kills every descendant. A process that loses its parent becomes our child, so in the end there is none."""
    if alive:
        _signal(suite, signal.SIGKILL)
    try:
        os.killpg(suite, signal.SIGKILL)
    except OSError:
        pass
    # Only a process that waits for a device survives SIGKILL.
    ends = time.monotonic() + _KILLED_WITHIN
    while time.monotonic() < ends:
        _reaped(suite)
        mine = {os.getpid()}
        left = _processes()
        size = 0
        while len(mine) > size:
            size = len(mine)
            mine.update(pid for pid, parent, _, _ in left if parent in mine)
        mine.discard(os.getpid())
        if not mine:
            return
        for pid in mine:
            _signal(pid, signal.SIGKILL)
        time.sleep(0.002)


def _processes() -> list:
    """(pid, parent, process group, state) of every process that the system reports."""
    processes: list = []
    try:
        names = os.listdir("/proc")
    except OSError:
        return processes
    for name in names:
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:
                    # The name in parentheses may hold anything.
                    fields = file.read().rpartition(b")")[2].split()
            except OSError:
                continue
            if fields[0] not in (b"Z", b"X"):
                processes.append((int(name), int(fields[1]), int(fields[2]), fields[0].decode()))
    return processes


def _signal(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except OSError:
        pass


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]), sys.argv[3:])
