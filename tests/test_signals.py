"""Whoever wants a run to end says so by a signal; a terminal that is lost is one of them."""

from __future__ import annotations

import os
import pty
import signal
import time

import pytest

from crosswarp.matrix.running.signals import StopRequested, terminated_as_interrupted


@pytest.fixture(autouse=True)
def heard():
    """Whoever runs these tests below nohup, or behind a shell's `&`, ignores two of the signals."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGHUP)}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_run_stops_where_it_can(number):
    before = signal.getsignal(number)
    with StopRequested() as stop:
        assert not stop
        os.kill(os.getpid(), number)
        assert stop
    assert signal.getsignal(number) is before


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_what_keeps_no_records_is_interrupted(number):
    with pytest.raises(KeyboardInterrupt), terminated_as_interrupted():
        os.kill(os.getpid(), number)
        signal.pause()


@pytest.mark.parametrize("context", [StopRequested, terminated_as_interrupted])
def test_a_lost_terminal_ends_nothing_below_nohup(context):
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with context() as stop:
            os.kill(os.getpid(), signal.SIGHUP)
            assert not stop
    finally:
        signal.signal(signal.SIGHUP, before)


def test_what_is_written_to_a_lost_terminal_fails_nowhere():
    """In a child on a terminal of its own, whose other end is closed: as when a window is."""
    pid, terminal = pty.fork()
    if pid == 0:
        status = 9
        with StopRequested() as stop:
            try:
                os.write(1, b"ready")
                # Not signal.pause(): a signal that comes just before that would be waited for without end.
                while not stop:
                    time.sleep(0.01)
                os.write(1, b"the rest of the run")
                status = 0
            except OSError:
                status = 5
            finally:
                # Inside: the closed terminal sends a signal too, and the second may come late.
                os._exit(status)
    assert os.read(terminal, 5) == b"ready"
    os.close(terminal)
    os.kill(pid, signal.SIGHUP)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
