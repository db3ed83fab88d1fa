"""compat.monitor: how a child ended, in a process that ignores SIGCHLD or waits for every child itself."""

import contextlib
import errno
import os
import resource
import signal
import threading
import time

import pytest

from crosswarp.compat import guard, isolate, monitor, system, worker
from crosswarp.compat.isolate import run_isolated


def ignored():
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)


def reap_all(*_):
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def reaped_by_a_handler():
    signal.signal(signal.SIGCHLD, reap_all)


def reaped_by_a_thread():
    def reap():
        while True:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(-1, 0)
            time.sleep(0.0005)

    threading.Thread(target=reap, daemon=True).start()


HOSTS = [ignored, reaped_by_a_handler, reaped_by_a_thread]


def in_host(host, function):
    """What `function` returns in a process of its own in which `host` was called."""

    def run(send):
        host()
        return function()

    outcome = run_isolated(run, time_limit=60)
    assert outcome.kind == "returned", outcome
    return outcome.value


def abort():
    os.write(2, b"last words\n")
    os.abort()


def plain(outcome):
    return outcome.kind, outcome.value, outcome.reason, outcome.output


def untimed(outcome):
    """`plain`, of a compilation: which shims acted, without the processor seconds that it took."""
    kind, value, *rest = plain(outcome)
    return (kind, value[0] if kind == "returned" else value, *rest)


class Source:
    fn = None


@pytest.mark.parametrize("host", HOSTS)
def test_a_workers_end_is_known(host):
    def compile_(src, how):
        if how == "abort":
            abort()
        if how == "raise":
            raise ValueError("no such layout")
        if how == "leave":
            os._exit(3)

    def run():
        ask = worker.compile_in_child
        return [
            untimed(ask("", compile_, Source(), (how,), {}, 30.0, None))
            for how in ("abort", "", "raise", "leave", "abort")
        ]

    assert in_host(host, run) == [
        ("signal", None, "SIGABRT", "last words\n"),
        ("returned", [], "", ""),
        ("raised", None, "ValueError", ""),
        ("exit", None, "exit 3", ""),
        ("signal", None, "SIGABRT", "last words\n"),
    ]


@pytest.mark.parametrize("host", [ignored, reaped_by_a_handler])
def test_an_isolated_childs_end_is_known(host):
    def run():
        ends = (abort, lambda: 7, lambda: os._exit(3))
        return [plain(run_isolated(lambda send, f=f: f(), time_limit=30))[:3] for f in ends]

    assert in_host(host, run) == [
        ("signal", None, "SIGABRT"),
        ("returned", 7, ""),
        ("exit", None, "exit 3"),
    ]


@pytest.mark.parametrize("host", HOSTS)
def test_limits_hold_and_nothing_is_left(host, tmp_path):
    log = tmp_path / "pids"

    def noted():
        with open(log, "a", encoding="ascii") as file:
            file.write(f"{os.getpid()}\n")

    def hang():
        noted()
        if os.fork() == 0:
            noted()
        time.sleep(60)

    def eat():
        noted()
        held = bytearray(400 << 20)
        held[:: 1 << 12] = b"x" * len(held[:: 1 << 12])
        time.sleep(60)

    # A forked child begins with the memory of the process that runs the tests.
    with open("/proc/self/statm", encoding="ascii") as file:
        resident_mb = int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") >> 20

    def run():
        hung = run_isolated(lambda send: hang(), time_limit=5)
        ate = run_isolated(lambda send: eat(), time_limit=60, memory_limit_mb=resident_mb + 200)
        return hung.kind, ate.kind

    assert in_host(host, run) == ("timeout", "memory")
    pids = log.read_text().split()
    assert len(pids) == 3
    until = time.monotonic() + 30
    while left := [pid for pid in pids if running(pid)]:
        assert time.monotonic() < until, left
        time.sleep(0.01)


def running(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_child_dies_with_its_parent_also_through_a_monitor(tmp_path):
    log = tmp_path / "pid"

    def sleep():
        log.write_text(str(os.getpid()))
        time.sleep(60)

    def run(send):
        ignored()
        isolate.fork(lambda send: [sleep()])
        while not (log.exists() and log.read_text()):
            time.sleep(0.01)
        os._exit(0)

    run_isolated(run, time_limit=60)
    until = time.monotonic() + 30
    while running(log.read_text()):
        assert time.monotonic() < until
        time.sleep(0.01)


def test_the_usual_host_pays_for_no_second_fork():
    def run():
        forks, fork = [], system.fork

        def counted():
            forks.append(1)
            return fork()

        system.fork = counted
        run_isolated(lambda send: None, time_limit=30)
        usual = monitor.needed(), len(forks)
        ignored()
        return usual, monitor.needed()

    assert in_host(lambda: None, run) == ((False, 1), True)


def test_processes_of_the_child_have_their_own_status_again():
    """Python takes a command for a success whose status the system has not kept."""
    import subprocess

    def run():
        ask = lambda send: subprocess.run(["sh", "-c", "exit 5"], check=False).returncode  # noqa: E731
        return run_isolated(ask, time_limit=30).value

    assert in_host(ignored, run) == 5


def open_files():
    return len(os.listdir("/proc/self/fd"))


@pytest.mark.parametrize("host", [lambda: None, ignored])
def test_a_fork_that_fails_leaves_no_file_open(host):
    def run():
        before = open_files()

        def refused():
            raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")

        fork, system.fork = system.fork, refused
        try:
            run_isolated(lambda send: None, time_limit=30)
        except BlockingIOError:
            return open_files() - before
        finally:
            system.fork = fork

    assert in_host(host, run) == 0


@pytest.mark.parametrize("free", range(9))
@pytest.mark.parametrize("host", [lambda: None, ignored])
def test_too_few_descriptors_are_an_error_and_leave_no_file_open(host, free):
    def run():
        before = open_files()
        limit = max(map(int, os.listdir("/proc/self/fd"))) + 1
        held = []
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, resource.getrlimit(7)[1]))
        with contextlib.suppress(OSError):
            while True:
                held.append(os.open("/dev/null", os.O_RDONLY))
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit + free, resource.getrlimit(7)[1]))
        try:
            kind = run_isolated(lambda send: None, time_limit=30).kind
        except OSError as error:
            kind = errno.errorcode[error.errno]
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit + 100, resource.getrlimit(7)[1]))
        return kind, open_files() - before - len(held)

    kind, left = in_host(host, run)
    assert left == 0
    # Two pipes, and where SIGCHLD is ignored a third.
    assert kind == ("returned" if free >= (6 if host is ignored else 4) else "EMFILE")


def test_a_monitor_that_cannot_fork_says_so():
    def run():
        ignored()
        fork, count = system.fork, []

        def once():
            count.append(1)
            if len(count) > 1:
                raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")
            return fork()

        system.fork = once
        try:
            run_isolated(lambda send: None, time_limit=30)
        except OSError as error:
            return error.errno, len(os.listdir("/proc/self/fd"))

    assert in_host(lambda: None, run)[0] == errno.EAGAIN


def test_a_worker_waits_at_a_descriptor_above_1024():
    def run():
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        if hard != resource.RLIM_INFINITY and hard < 1200:
            return "limited"
        resource.setrlimit(resource.RLIMIT_NOFILE, (1200, hard))
        held = [os.open("/dev/null", os.O_RDONLY) for _ in range(1100)]
        kernel = type("Kernel", (), {"cache_key": "key"})()
        # On a busy machine a second may pass between two compilations.
        worker.KEPT_SECONDS = worker._LEAVES_AFTER = 600.0
        pids = []
        for _ in range(3):
            source = Source()
            source.fn = kernel
            pids.append(
                plain(worker.compile_in_child("", lambda src: None, source, (), {}, 30.0, None))[0]
            )
        kept = worker._mine.worker is not None and worker._mine.worker.usable()
        return pids, kept, len(held)

    assert in_host(lambda: None, run) in ("limited", (["returned"] * 3, True, 1100))


def test_what_the_machine_is_short_of_is_not_remembered_of_a_kernel(monkeypatch, tmp_path):
    """LLVM aborts where it gets no thread."""
    from crosswarp.compat import crash_memory

    def dying(words):
        def compile_(src):
            os.write(2, words)
            os.abort()

        entry = crash_memory.Entry(tmp_path / f"{len(words)}.json")
        with pytest.raises(guard.CompilerCrashed):
            guard._compile_in_child(compile_, Source(), (), {}, "", entry)
        return entry.read() is not None

    monkeypatch.setattr(guard, "_become_a_child", lambda: None)
    assert dying(b"Layout.cpp:7: Assertion failed\n")
    assert not dying(b"LLVM ERROR: pthread_create failed: Resource temporarily unavailable\n")
