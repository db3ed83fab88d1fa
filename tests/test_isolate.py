"""compat.isolate: whatever a forked child does is an outcome."""

import ctypes
import fcntl
import os
import pickle
import signal
import sys
import time

import pytest

from crosswarp.compat import isolate
from crosswarp.compat.isolate import SHOWN_OUTPUT, Outcome, fork, run_isolated


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
    assert len(outcome.output) < 2 * SHOWN_OUTPUT + 200


def test_memory_without_end_is_stopped():
    def allocate():
        kept = []
        while True:
            kept.append(b"x" * 20_000_000)
            # A parent that is late to look must not let it fill the machine.
            time.sleep(0.02)

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
    assert (outcome.kind, outcome.reason) == ("unreadable", "its result is no data (Own)")


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


SYSTEM_CALLS = (
    *(
        "_exit",
        "waitpid",
        "fork",
        "kill",
        "killpg",
        "getpid",
        "getppid",
        "setpgid",
        "close",
        "dup2",
    ),
    *("read", "write", "pipe", "set_blocking"),
)


@pytest.mark.parametrize("name", SYSTEM_CALLS)
def test_a_child_that_replaces_a_system_call_ends_all_the_same(name):
    def replace():
        setattr(os, name, lambda *args: None)
        time.sleep = signal.signal = lambda *args: None
        return "done"

    assert run(replace).value == "done"


def test_a_child_that_clears_our_modules_does_not_come_back_as_its_parent(tmp_path):
    def clear():
        for name, module in list(sys.modules.items()):
            if name.startswith("crosswarp"):
                vars(module).clear()
        return "done"

    here = os.getpid()
    outcome = run(clear)
    (tmp_path / str(os.getpid())).touch()
    assert [path.name for path in tmp_path.iterdir()] == [str(here)]
    assert outcome.kind in ("returned", "exit", "raised"), outcome


def test_a_child_that_hangs_after_its_answer_is_stopped():
    def answer_and_hang(send):
        yield "done"
        os.closerange(0, 100)
        time.sleep(60)

    child = fork(answer_and_hang)
    outcome = child.watch(time.monotonic(), time_limit=1)
    child.end()
    assert outcome.kind == "timeout" and not _running(child.pid)


def test_a_result_that_is_read_after_the_end_of_its_child_is_whole():
    def answer(send):
        # The whole answer fits into the pipe, and takes several reads. From Python 3.10 on it is F_SETPIPE_SZ.
        fcntl.fcntl(_pipe_of_results(), 1031, 1 << 20)
        return [b"x" * 300_000]

    child = fork(answer)
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    outcome = child.watch(time.monotonic(), 30)
    child.close()
    assert (outcome.kind, len(outcome.value or "")) == ("returned", 300_000)


def test_a_child_that_left_its_group_is_ended():
    pids = []

    def leave_the_group(send):
        os.setsid() if os.getpgrp() != os.getpid() else os.setpgid(0, os.getpgid(os.getppid()))
        send(os.getpid())
        time.sleep(60)

    assert run_isolated(leave_the_group, time_limit=2, on_message=pids.append).kind == "timeout"
    assert [_running(pid) for pid in pids] == [False]


def test_a_child_whose_end_another_part_collected_is_not_killed_by_its_number(monkeypatch):
    """The number may be another process's by now."""

    def collected(*_):
        raise ChildProcessError

    killed = []
    monkeypatch.setattr(isolate.system, "waitpid", collected)
    monkeypatch.setattr(isolate.system, "kill", lambda pid, number: killed.append(pid))
    monkeypatch.setattr(isolate.system, "killpg", lambda *_: None)
    monkeypatch.setattr(isolate.monitor, "note_gone", lambda: None)
    child = isolate.Child(2**30, -1, -1)
    assert not child.alive()
    child.kill()
    assert killed == []


def test_without_standard_streams_nothing_is_overwritten():
    def in_a_process_without_streams():
        os.closerange(0, 3)
        outcome = run(lambda: os.write(1, b"printed") and "done")
        return outcome.kind, outcome.value, outcome.output

    assert run(in_a_process_without_streams).value == ("returned", "done", "printed")


DATA = [
    None, True, 0, -(2**80), 1.5, float("inf"), "", "\ud800 \0 \x93crosswarp", b"\0\xff", [], (), {}, set(),
    [(1, [2, (3,)], {"a": (b"b",), 4: None, (5, 6): [7]})], {"tuple": [1]}, {"dict": 1, "list": ()}, frozenset({1}),
]  # fmt: skip


@pytest.mark.parametrize("value", DATA, ids=repr)
def test_data_comes_through_as_it_is(value):
    found = run(lambda: value).value
    assert found == value and type(found) is type(value)


class Runs:
    def __reduce__(self):
        return os._exit, (0,)


def _frame(payload, kind=b"R", length=None):
    length = len(payload) if length is None else length
    return b"\x93crosswarp" + kind + length.to_bytes(8, "big") + payload


@pytest.mark.parametrize(
    "frame",
    [
        _frame(pickle.dumps(Runs())),
        _frame(b"x", length=2**60),
        _frame(b"[1]"),
        _frame(b'{"tuple": 1}'),
        _frame(b'{"other": [1]}'),
        _frame(b'{"tuple": [], "list": []}'),
        # No more than a pipe holds: a write of more may be cut short by a signal.
        _frame(b"[" * 50_000),
        _frame(b'{"list": [' * 5_000 + b"]}" * 5_000),
        _frame(b"1" * 10_000),
        _frame(b"null", kind=b"E"),
        _frame(b'{"tuple": ["a", "b", 3]}', kind=b"E"),
        _frame(b'"x"', kind=b"Z"),
    ],
    ids=range(12),
)
def test_a_forged_frame_is_an_outcome_and_runs_nothing(frame):
    outcome = run(lambda: os.write(_pipe_of_results(), frame) and "done", time_limit=10)
    assert outcome.kind == "unreadable" and outcome.reason


def test_a_forged_message_is_no_error_of_the_listener():
    def heard(message):
        name, verdict = message
        dict(**verdict)

    outcome = run_isolated(lambda send: send("abc"), time_limit=10, on_message=heard)
    assert (outcome.kind, outcome.reason) == (
        "unreadable",
        "a message of another form (ValueError)",
    )


def test_an_outcome_can_be_sent_by_who_watched_it():
    outcome = run(lambda: {"a": (1,)})
    assert Outcome.of_data(outcome.as_data()) == outcome
    failed = run(lambda: 1 / 0)
    assert (
        Outcome.of_data(failed.as_data()) == failed
        and failed.raised.type_name == "ZeroDivisionError"
    )
    for forged in (
        None,
        {},
        {**outcome.as_data(), "kind": 3},
        {**outcome.as_data(), "raised": ("a",)},
    ):
        assert Outcome.of_data(forged) is None


def test_a_traceback_through_a_pipe_is_told(tmp_path):
    pipe = tmp_path / "source.py"
    os.mkfifo(pipe)

    def fail():
        exec(compile("1 / 0", str(pipe), "exec"))

    outcome = run(fail, time_limit=10)
    assert outcome.reason == "ZeroDivisionError" and str(pipe) in outcome.raised.traceback


def test_a_group_that_holds_one_exception_along_many_ways_is_told():
    def fail():
        error = ValueError("leaf")
        for _ in range(60):
            error = ExceptionGroup("twice", [error, error])  # noqa: F821
        raise error

    outcome = run(fail, time_limit=10)
    assert outcome.reason == "ExceptionGroup" and "of more than" in outcome.raised.traceback
