"""compat.worker: one child for many compilations, and what happens when it, its thread or its parent goes."""

import os
import signal
import threading
import time

import pytest

from crosswarp.compat import worker
from crosswarp.compat.worker import compile_in_child


class Kernel:
    def __init__(self, key="key"):
        self.cache_key = key


class Source:
    def __init__(self, fn, number):
        self.fn, self.number = fn, number


KERNEL = Kernel()


@pytest.fixture(autouse=True)
def _alone(monkeypatch):
    # On a busy machine a second may pass between two compilations.
    monkeypatch.setattr(worker, "KEPT_SECONDS", 600.0)
    monkeypatch.setattr(worker, "_LEAVES_AFTER", 600.0)
    yield
    worker._mine.worker = None


@pytest.fixture
def compile_(tmp_path):
    """Notes its process and what it was given; a negative number is fatal."""

    def compile(src, how=None):
        with open(tmp_path / "log", "a", encoding="ascii") as file:
            file.write(f"{os.getpid()} {src.number}\n")
        if how == "abort":
            os.write(2, b"last words\n")
            os.abort()
        if how == "raise":
            raise ValueError("no such layout")
        if how == "interrupt":
            os.kill(os.getppid(), signal.SIGUSR1)
        if how in ("sleep", "interrupt"):
            time.sleep(60)

    return compile


def lines(tmp_path):
    return [tuple(map(int, line.split())) for line in (tmp_path / "log").read_text().splitlines()]


def ask(compile_, number, how=None, kernel=KERNEL, seconds=30.0):
    return compile_in_child("", compile_, Source(kernel, number), (how,), {}, seconds, None)


def children(tmp_path):
    return [pid for pid, _ in lines(tmp_path)]


def test_one_child_compiles_one_kernel_after_the_other(compile_, tmp_path):
    assert [ask(compile_, number).kind for number in range(3)] == ["returned"] * 3
    assert [number for _, number in lines(tmp_path)] == [0, 1, 2]
    assert len(set(children(tmp_path))) == 1 and os.getpid() not in children(tmp_path)


def test_what_fails_costs_its_child_and_no_other_result(compile_, tmp_path):
    outcomes = [
        ask(compile_, number, how)
        for number, how in enumerate([None, "abort", None, "raise", None, None])
    ]
    assert [outcome.kind for outcome in outcomes] == [
        "returned",
        "signal",
        "returned",
        "raised",
        "returned",
        "returned",
    ]
    assert outcomes[1].reason == "SIGABRT" and "last words" in outcomes[1].output
    assert outcomes[3].raised.text == "no such layout"
    # what died in a child that had compiled before was tried again in a fresh one
    assert [number for _, number in lines(tmp_path)] == [0, 1, 1, 2, 3, 4, 5]
    first, second, again, third, fourth, fifth, sixth = children(tmp_path)
    assert first == second and third == fourth and fifth == sixth
    assert len({first, again, third, fifth}) == 4


def test_a_time_limit_ends_the_child(compile_, tmp_path):
    ask(compile_, 0)
    assert ask(compile_, 1, "sleep", seconds=0.3).kind == "timeout"
    assert ask(compile_, 2).kind == "returned"
    assert not alive(children(tmp_path)[0])


def test_a_compilations_time_begins_with_its_work(compile_, monkeypatch):
    """However late this process asks: on a busy machine the child may have finished by then."""
    outcome = worker.Worker.outcome

    def late(self, *limits):
        time.sleep(0.3)
        return outcome(self, *limits)

    monkeypatch.setattr(worker.Worker, "outcome", late)
    assert [ask(compile_, number).seconds >= 0.3 for number in range(2)] == [True, True]


def test_another_kernel_or_environment_gets_another_child(compile_, tmp_path, monkeypatch):
    ask(compile_, 0)
    ask(compile_, 1, kernel=Kernel())
    monkeypatch.setenv("CROSSWARP_TEST_WORKER", "1")
    ask(compile_, 2, kernel=KERNEL)
    ask(compile_, 3, kernel=KERNEL)
    worker.forget()
    ask(compile_, 4, kernel=KERNEL)
    pids = children(tmp_path)
    assert pids[2] == pids[3]
    assert len(set(pids)) == 4
    # at most one at a time
    assert [alive(pid) for pid in pids] == [False, False, False, False, True]


def test_nobody_waits_for_the_death_of_the_last_child(compile_, tmp_path, monkeypatch):
    ask(compile_, 0)
    first = children(tmp_path)[0]
    fork, there = worker.fork, []

    def noted(function):
        there.append(os.path.exists(f"/proc/{first}"))
        return fork(function)

    monkeypatch.setattr(worker, "fork", noted)
    assert ask(compile_, 1, kernel=Kernel()).kind == "returned"
    assert there == [True] and not os.path.exists(f"/proc/{first}")


def test_what_cannot_be_sent_gets_a_child_of_its_own(compile_, tmp_path):
    ask(compile_, 0)
    source = Source(KERNEL, 1)
    source.lock = threading.Lock()
    assert compile_in_child("", compile_, source, (), {}, 30.0, None).kind == "returned"
    assert len(set(children(tmp_path))) == 2


def test_a_child_that_was_killed_while_it_waited_is_replaced(compile_, tmp_path):
    ask(compile_, 0)
    os.kill(children(tmp_path)[0], signal.SIGKILL)
    assert ask(compile_, 1).kind == "returned"
    # The kill may come before or after it has looked for work.
    assert lines(tmp_path)[-1][0] != lines(tmp_path)[0][0]


def test_one_that_waited_too_long_leaves_by_itself(compile_, tmp_path, monkeypatch):
    monkeypatch.setattr(worker, "_LEAVES_AFTER", 0.1)
    ask(compile_, 0)
    wait_until(lambda: not alive(children(tmp_path)[0]))
    assert ask(compile_, 1).kind == "returned"


def test_each_thread_has_its_own_and_takes_it_along(compile_, tmp_path):
    ask(compile_, 0)
    other = threading.Thread(target=lambda: [ask(compile_, 1), ask(compile_, 2)])
    other.start()
    other.join()
    ask(compile_, 3)
    pids = children(tmp_path)
    assert pids[0] == pids[3] and pids[1] == pids[2] and pids[0] != pids[1]
    wait_until(lambda: not alive(pids[1]))
    assert alive(pids[0])


def test_an_interrupted_wait_leaves_no_answer_for_the_next(compile_, tmp_path):
    ask(compile_, 0)

    def interrupt(number, frame):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGUSR1, interrupt)
    try:
        with pytest.raises(KeyboardInterrupt):
            ask(compile_, 1, "interrupt")
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert not alive(children(tmp_path)[0])
    assert ask(compile_, 2, "raise").kind == "raised"


def test_a_fork_of_the_parent_leaves_the_parents_child_alone(compile_, tmp_path):
    ask(compile_, 0)
    pid = os.fork()
    if pid == 0:
        fine = ask(compile_, 1).kind == "returned"
        os._exit(0 if fine else 1)
    assert os.waitpid(pid, 0)[1] == 0
    assert ask(compile_, 2).kind == "returned"
    first, second, third = children(tmp_path)
    assert first == third != second
    wait_until(lambda: not alive(second))


@pytest.mark.parametrize("end", ["exit", "killed", "exec"])
def test_it_does_not_outlive_its_parent(compile_, tmp_path, end):
    pid = os.fork()
    if pid == 0:
        ask(compile_, 0)
        if end == "exec":
            os.execvp("true", ["true"])
        if end == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        os._exit(0)
    os.waitpid(pid, 0)
    wait_until(lambda: not alive(children(tmp_path)[0]))


def test_nothing_stays_open(compile_):
    def open_files():
        return len(os.listdir("/proc/self/fd"))

    ask(compile_, 0)
    worker._mine.worker = None
    before = open_files()
    for number in range(5):
        ask(compile_, number, None if number % 2 else "raise", kernel=Kernel())
    worker._mine.worker = None
    assert open_files() == before


def alive(pid):
    """Whether the process runs: not gone, and no zombie."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            return file.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def wait_until(condition, seconds=20):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)
