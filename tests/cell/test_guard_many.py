"""Eight processes start at once on a cold cache, as ranks do: each kernel is compiled once, whoever dies on the way."""

import fcntl
import json
import os
import signal
import time
from collections import Counter
from pathlib import Path

import pytest
import small_kernels
import targets
import torch
from triton.compiler import compiler

from crosswarp import compat
from crosswarp.compat import guard, locks, system, worker
from crosswarp.matrix.cell.standins import virtual_gpu
from crosswarp.matrix.cell.standins.virtual_gpu import launches

pytestmark = pytest.mark.both_ends

RANKS = 8
BLOCKS = (64, 128, 256)


def watch_compilations(log, pause, die_above=99, first_ends=True):
    """From here on each compilation is written to `log`, a file, before it starts, takes a while, and may die.

    Unless `first_ends`, the first of all waits until it is killed.
    """
    make_ir = compiler.ASTSource.make_ir

    def make(self, *args, **kwargs):
        options = next(arg for arg in args if hasattr(arg, "num_warps"))
        values = sorted(v for v in self.constants.values() if isinstance(v, int) and v > 1)
        line = f"{os.getppid()} {options.num_warps} {values}\n"
        with open(log, "ab", buffering=0) as file:
            file.write(line.encode())
            # It holds the lock of its kernel; of the other two nobody has come to one.
            first = file.tell() == len(line)
        time.sleep(pause if first_ends or not first else 600)
        if options.num_warps > die_above:
            os.abort()
        return make_ir(self, *args, **kwargs)

    compiler.ASTSource.make_ir = make


def rank(go, num_warps):
    """What one process does: wait for the start, then launch every kernel."""
    os.read(go, 1)
    try:
        used = set()
        for block in BLOCKS:
            small_kernels.scaled[(1,)](
                torch.ones(100), torch.zeros(100), 100, BLOCK=block, num_warps=num_warps
            )
            used.add(launches[-1].num_warps)
        os._exit(0 if len(used) == 1 else 1)
    except BaseException:
        import traceback

        traceback.print_exc()
    os._exit(2)


def start(num_warps):
    """Fork the ranks; returns their pids. All go at once."""
    read, write = os.pipe()
    pids = []
    for _ in range(RANKS):
        pid = os.fork()
        if pid == 0:
            rank(read, num_warps)
        pids.append(pid)
    os.write(write, b"x" * RANKS)
    return pids


def lines(log):
    return log.read_text().splitlines() if log.exists() else []


def assert_nothing_torn():
    for path in Path(os.environ["TRITON_CACHE_DIR"]).rglob("*.json"):
        json.loads(path.read_text())
    for path in Path(os.environ["CROSSWARP_CACHE_DIR"]).rglob("*.json"):
        assert set(json.loads(path.read_text())) >= {"kind", "reason", "stderr"}


@pytest.mark.one_release
def test_one_compilation_each_though_one_rank_is_killed(in_fork, tmp_path):
    log = tmp_path / "log"

    def run():
        # Before the guard comes: what it calls in the child is this.
        watch_compilations(log, pause=0.1, first_ends=False)
        compat.install(guard="always")
        virtual_gpu.activate(targets.SM_90)
        pids = start(num_warps=4)
        until = time.monotonic() + 60
        while not lines(log) and time.monotonic() < until:
            time.sleep(0.01)
        # The one that compiles now, with the lock in its hand and half of the work done.
        victim = int(lines(log)[0].split()[0])
        os.kill(victim, signal.SIGKILL)
        ended = {pid: os.waitpid(pid, 0)[1] for pid in pids}
        return victim, ended

    victim, ended = in_fork(run)
    assert os.WTERMSIG(ended.pop(victim)) == signal.SIGKILL
    assert set(ended.values()) == {0}
    # What the victim had begun was done again, by one; all the rest once.
    first, *rest = lines(log)
    assert Counter(line.split(" ", 1)[1] for line in rest) == Counter(
        line.split(" ", 1)[1] for line in set(rest)
    )
    assert len(rest) == len(BLOCKS)
    assert_nothing_torn()


@pytest.mark.one_release
def test_one_crash_is_enough_for_all(in_fork, tmp_path):
    log = tmp_path / "log"

    def run():
        watch_compilations(log, pause=0.1, die_above=4)
        compat.install(guard="always")
        virtual_gpu.activate(targets.SM_90)
        return [os.waitpid(pid, 0)[1] for pid in start(num_warps=8)]

    assert in_fork(run) == [0] * RANKS
    # Each kernel killed a child of one rank with 8 warps, and was compiled by one rank with 4.
    assert Counter(line.split()[1] for line in set(lines(log))) == {
        "8": len(BLOCKS),
        "4": len(BLOCKS),
    }
    assert_nothing_torn()


def test_a_lock_that_is_never_given_back_only_costs_time(in_fork, monkeypatch, tmp_path):
    monkeypatch.setenv(guard.LOCK_LIMIT_ENV, "0.3")
    # 16 locks in all
    monkeypatch.setattr(locks, "_DIGITS", 1)

    def run():
        watch_compilations(tmp_path / "log", pause=0)
        compat.install(guard="always")
        virtual_gpu.activate(targets.SM_90)
        folder = Path(os.environ["CROSSWARP_CACHE_DIR"]) / "locks"
        folder.mkdir(parents=True)
        kept = [
            os.open(folder / f"{number:x}.lock", os.O_RDWR | os.O_CREAT) for number in range(16)
        ]
        for fd in kept:
            fcntl.flock(fd, fcntl.LOCK_EX)
        start = time.monotonic()
        small_kernels.scaled[(1,)](torch.ones(100), torch.zeros(100), 100, BLOCK=64)
        return len(launches), time.monotonic() - start

    launched, seconds = in_fork(run)
    assert launched == 1
    assert seconds >= 0.3


def test_configurations_of_one_kernel_share_one_child(in_fork):
    def run():
        compat.install(guard="always")
        virtual_gpu.activate(targets.SM_90)
        # On a busy machine a second may pass between two compilations.
        worker.KEPT_SECONDS = worker._LEAVES_AFTER = 600.0
        real, count = system.fork, []
        system.fork = lambda: count.append(1) or real()
        for block in BLOCKS:
            small_kernels.scaled[(1,)](torch.ones(100), torch.zeros(100), 100, BLOCK=block)
        same = len(count)
        small_kernels.declares_num_warps[(1,)](
            torch.ones(100), torch.zeros(100), 100, BLOCK=64, num_warps=4
        )
        other = len(count)
        os.environ["TRITON_CROSSWARP_TEST"] = "changed"
        small_kernels.declares_num_warps[(1,)](
            torch.ones(100), torch.zeros(100), 100, BLOCK=128, num_warps=4
        )
        return same, other, len(count), [launch.num_warps for launch in launches]

    # A change of the environment is nothing that an older child knows.
    assert in_fork(run) == (1, 2, 3, [4] * 5)
