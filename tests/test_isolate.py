"""compat.isolate: whatever a forked child does is an outcome."""

import ctypes
import os
import signal
import sys
import time

import pytest

from crosswarp.compat.isolate import KEPT_OUTPUT, run_isolated


def run(function, **options):
    return run_isolated(lambda send: function(), **{"time_limit": 30, **options})


def test_a_result_comes_back():
    outcome = run(lambda: {"answer": [1, 2]})
    assert (outcome.kind, outcome.value) == ("returned", {"answer": [1, 2]})


def test_a_large_result_comes_back_whole():
    assert len(run(lambda: b"x" * 20_000_000).value) == 20_000_000


def test_an_exception_is_told_with_its_traceback():
    def fail():
        raise ValueError("no such layout")

    outcome = run(fail)
    assert outcome.kind == "raised"
    assert (outcome.raised.type_name, outcome.raised.text) == ("ValueError", "no such layout")
    assert "in fail" in outcome.raised.traceback


def test_abort_gives_signal_and_last_words():
    def abort():
        os.write(2, b"LinearLayout.cpp:562: Assertion `x' failed.\n")
        os.abort()

    outcome = run(abort)
    assert (outcome.kind, outcome.reason) == ("signal", "SIGABRT")
    assert "Assertion `x' failed" in outcome.output


def test_a_segmentation_fault_gives_its_signal():
    outcome = run(lambda: ctypes.string_at(0))
    assert (outcome.kind, outcome.reason) == ("signal", "SIGSEGV")


def test_a_hang_ends_at_the_time_limit_and_what_it_started_ends_with_it():
    pids = []

    def hang(send):
        send(os.getpid())
        if os.fork() == 0:
            send(os.getpid())
        while True:
            time.sleep(1)

    outcome = run_isolated(hang, time_limit=5, on_message=pids.append)
    assert (outcome.kind, outcome.reason) == ("timeout", "5 s")
    assert len(pids) == 2
    # SIGKILL was sent to the group; the orphan is gone as soon as the system has got to it.
    for pid in pids:
        _wait_until(lambda pid=pid: not _running(pid))


def test_a_busy_loop_ends_at_the_time_limit():
    def spin():
        while True:
            pass

    assert run(spin, time_limit=0.5).kind == "timeout"


@pytest.mark.parametrize("status", [0, 3])
def test_leaving_early_is_no_result(status):
    outcome = run(lambda: os._exit(status))
    assert (outcome.kind, outcome.reason) == ("exit", f"exit {status}")


def test_sys_exit_is_an_exception():
    assert run(lambda: sys.exit(0)).raised.type_name == "SystemExit"


def test_fifty_megabytes_on_stderr_neither_block_nor_fill():
    def shout():
        os.write(2, b"first words\n")
        for _ in range(50):
            os.write(2, b"x" * 1_000_000)
        os.write(2, b"last words\n")
        return "done"

    outcome = run(shout)
    assert outcome.value == "done"
    assert outcome.output.startswith("first words")
    assert outcome.output.endswith("last words\n")
    assert len(outcome.output) < 2 * KEPT_OUTPUT + 200


def test_memory_without_end_is_stopped():
    def allocate():
        kept = []
        while True:
            kept.append(b"x" * 20_000_000)

    outcome = run(allocate, memory_limit_mb=600)
    assert (outcome.kind, outcome.reason) == ("memory", "600 MiB")


def test_messages_survive_the_death_of_their_sender():
    messages = []

    def tell_and_die(send):
        send("one")
        send({"two": 2})
        os.kill(os.getpid(), signal.SIGKILL)

    outcome = run_isolated(tell_and_die, time_limit=30, on_message=messages.append)
    assert (outcome.kind, outcome.reason) == ("signal", "SIGKILL")
    assert messages == ["one", {"two": 2}]


def _pipe_of_results():
    frame = sys._getframe()
    while "result_fd" not in frame.f_locals:
        frame = frame.f_back
    return frame.f_locals["result_fd"]


@pytest.mark.parametrize(
    "stray", [b"debug: here\n" * 3, b"\0" * 200_000, b"R" + b"\xff" * 8 + b"x" * 40]
)
def test_a_stray_write_into_the_pipe_is_an_outcome(stray):
    def write_and_return():
        os.write(_pipe_of_results(), stray)
        return "done"

    outcome = run(write_and_return)
    assert (outcome.kind, outcome.reason) == (
        "unreadable",
        "something else wrote into the pipe of its results",
    )


def test_a_result_of_a_class_that_only_the_child_has_is_an_outcome():
    def return_own():
        import __main__

        class Own:
            pass

        Own.__module__, Own.__qualname__ = "__main__", "Own"
        __main__.Own = Own
        return Own()

    outcome = run(return_own)
    assert outcome.kind == "unreadable"
    assert outcome.reason == "its result cannot be read (AttributeError)"


def test_an_unreadable_message_is_not_passed_over():
    messages = []

    def send_own(send):
        import __main__

        class Own:
            pass

        Own.__module__, Own.__qualname__ = "__main__", "Own"
        __main__.Own = Own
        send("good")
        send(Own())
        return "done"

    outcome = run_isolated(send_own, time_limit=30, on_message=messages.append)
    assert (outcome.kind, messages) == ("unreadable", ["good"])


def test_an_exception_without_text_is_told():
    class NoText(BaseException):
        def __str__(self):
            raise KeyboardInterrupt

    def fail():
        raise NoText

    outcome = run(fail)
    assert (outcome.kind, outcome.reason) == ("raised", "NoText")
    assert outcome.raised.text == "<without text: KeyboardInterrupt>"


@pytest.mark.parametrize("leaves_the_group", [False, True])
def test_a_process_that_writes_for_ever_does_not_hold_us(leaves_the_group):
    def leave_it_behind():
        if os.fork() == 0:
            if leaves_the_group:
                os.setsid()
            while True:
                os.write(1, b"x" * 60_000)
        time.sleep(0.05)
        os._exit(0)

    assert run(leave_it_behind).reason == "exit 0"


def test_a_fork_of_the_child_does_not_answer_as_well():
    def twice(send):
        pid = os.fork()
        if pid:
            os.waitpid(pid, 0)
        send(os.getpid())
        return [pid] * 50_000

    seen = []
    outcome = run_isolated(twice, time_limit=30, on_message=seen.append)
    assert outcome.kind == "returned" and outcome.value[0] != 0
    assert len(seen) == 2


def test_invalid_utf8_is_kept_readable():
    assert "\ufffd" in run(lambda: os.write(2, b"\xff\xfe ok")).output


def test_a_child_does_not_outlive_a_killed_parent(tmp_path):
    """The parent is killed with SIGKILL half-way; the child must follow."""
    said = tmp_path / "pid"

    def parent():
        def child(send):
            said.write_text(str(os.getpid()))
            time.sleep(60)

        run_isolated(child, time_limit=60)

    middle = os.fork()
    if middle == 0:
        parent()
        os._exit(0)
    _wait_until(lambda: said.exists() and said.read_text())
    os.kill(middle, signal.SIGKILL)
    os.waitpid(middle, 0)
    pid = int(said.read_text())
    _wait_until(lambda: not _running(pid))


def _running(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            return file.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def _wait_until(condition, seconds=20):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)
