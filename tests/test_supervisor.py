"""What a suite starts does not outlive it: the supervisor ends it, whatever became of the suite and of the host."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from crosswarp.matrix.running.process import SuiteProcess, end_supervised, supervised

# Leaves three processes behind, each in a session of its own, and writes their ids: a child, a daemon that has lost its
# parent, and one that ignores every signal that it can.
LEAVES = """
    import os, pathlib, signal, sys, time
    def stay(name):
        if os.fork():
            return
        os.setsid()
        if name == "daemon" and os.fork():
            os._exit(0)
        if name == "deaf":
            for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
                signal.signal(number, signal.SIG_IGN)
        pathlib.Path(sys.argv[1], name + ".part").write_text(str(os.getpid()))
        os.rename(pathlib.Path(sys.argv[1], name + ".part"), pathlib.Path(sys.argv[1], name))
        time.sleep(600)
        os._exit(0)
    for name in ("child", "daemon", "deaf"):
        stay(name)
    while len([one for one in os.listdir(sys.argv[1]) if one in ("child", "daemon", "deaf")]) < 3:
        time.sleep(0.01)
"""


def started(tmp_path, then, **options):
    code = textwrap.dedent(LEAVES) + "\n" + textwrap.dedent(then)
    argv = [sys.executable, "-c", code, str(tmp_path)]
    return SuiteProcess(argv, tmp_path / "log", os.environ, tmp_path, **options)


def left(tmp_path):
    """Their ids, once all of them are there."""
    ends = time.monotonic() + 30
    files = [tmp_path / name for name in ("child", "daemon", "deaf")]
    while not all(file.is_file() for file in files):
        assert time.monotonic() < ends, (tmp_path / "log").read_text()
        time.sleep(0.01)
    return [int(file.read_text()) for file in files]


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] != b"Z"
    except OSError:
        return False


def all_gone(pids, within=20.0):
    ends = time.monotonic() + within
    while any(map(alive, pids)):
        if time.monotonic() > ends:
            return False
        time.sleep(0.01)
    return True


@pytest.mark.parametrize(
    ("then", "status"),
    [
        ("", 0),
        ("sys.exit(7)", 7),
        ("os.abort()", -signal.SIGABRT),
        ("os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL),
        ("os.killpg(0, signal.SIGKILL)", -signal.SIGKILL),
        # Its parent is the supervisor, which takes orders from the host alone.
        ("[os.kill(os.getppid(), n) for n in (15, 2, 1, 10, 17)]; time.sleep(0.3); sys.exit(3)", 3),
    ],
)
def test_its_end_is_told_and_nobody_is_left(tmp_path, then, status):
    suite = started(tmp_path, then)
    assert suite.wait(60) == status
    assert all_gone(left(tmp_path))


def test_it_is_ended_with_whoever_it_has_started(tmp_path):
    suite = started(
        tmp_path, "[signal.signal(n, signal.SIG_IGN) for n in (1, 2, 15)]; time.sleep(600)"
    )
    pids = left(tmp_path)
    suite.end()
    assert suite.poll() is not None and all_gone(pids)


def test_the_host_is_killed(tmp_path):
    host = (
        "import os, sys, time; from pathlib import Path; from crosswarp.matrix.running.process import SuiteProcess\n"
        f"SuiteProcess([sys.executable, '-c', {textwrap.dedent(LEAVES) + 'time.sleep(600)'!r}, sys.argv[1]], "
        "Path(sys.argv[1], 'log'), os.environ, Path(sys.argv[1]))\ntime.sleep(600)"
    )
    process = subprocess.Popen([sys.executable, "-c", host, str(tmp_path)])
    pids = left(tmp_path)
    process.kill()
    process.wait()
    assert all_gone(pids)


def test_what_was_stopped_goes_on(tmp_path):
    """The suite stops itself, and then its supervisor."""
    then = (
        "os.kill(os.getpid(), signal.SIGSTOP); os.kill(os.getppid(), signal.SIGSTOP); sys.exit(5)"
    )
    suite = started(tmp_path, then)
    ends = time.monotonic() + 30
    while (status := suite.poll()) is None and time.monotonic() < ends:
        time.sleep(0.05)
    assert status == 5


def test_who_may_end_in_good_order_does(tmp_path):
    then = """
        def end(*_):
            print("in good order", flush=True)
            sys.exit(0)
        signal.signal(signal.SIGTERM, end)
        pathlib.Path(sys.argv[1], "ready").touch()
        time.sleep(600)
    """
    suite = started(tmp_path, then, grace=30.0)
    while not (tmp_path / "ready").exists():
        time.sleep(0.01)
    suite.end()
    assert "in good order" in (tmp_path / "log").read_text()
    assert suite.poll() == 0


def test_a_command_that_is_not_there(tmp_path):
    process = subprocess.Popen([*supervised(), "/no/such/python"], stderr=subprocess.PIPE)
    assert process.wait(30) == 127 and b"No such file" in process.stderr.read()
    end_supervised(process)
