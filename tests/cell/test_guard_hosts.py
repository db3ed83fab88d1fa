"""The guard in hosts that ignore or reap their children, and in hosts short of descriptors or processes."""

import contextlib
import errno
import os
import resource
import signal
import threading
import time
import warnings

import pytest
import small_kernels
import targets
import torch
from triton.compiler import compiler

from crosswarp import compat
from crosswarp.compat import system, worker
from crosswarp.matrix.cell.standins import virtual_gpu
from crosswarp.matrix.cell.standins.virtual_gpu import launches

pytestmark = pytest.mark.both_ends


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


def launch(num_warps, BLOCK=128):
    small_kernels.scaled[(1,)](
        torch.ones(100), torch.zeros(100), 100, BLOCK=BLOCK, num_warps=num_warps
    )
    return launches[-1].num_warps


def die_above(num_warps):
    """From here on this Triton's compiler dies for more than `num_warps` warps."""
    make_ir = compiler.ASTSource.make_ir

    def make(self, *args, **kwargs):
        if next(arg for arg in args if hasattr(arg, "num_warps")).num_warps > num_warps:
            os.write(2, b"Layout.cpp:7: Assertion `rank == 2' failed.\n")
            os.abort()
        return make_ir(self, *args, **kwargs)

    compiler.ASTSource.make_ir = make


@pytest.mark.one_release
@pytest.mark.parametrize("host", [ignored, reaped_by_a_handler, reaped_by_a_thread])
def test_a_crash_is_healed_whoever_waits_for_children(in_fork, host):
    def run():
        die_above(2)
        compat.install(guard="always")
        virtual_gpu.activate(targets.SM_90)
        host()
        used = [launch(16), launch(1), launch(2, BLOCK=64)]
        tuned = small_kernels.tuned()
        tuned[(1,)](torch.ones(100), torch.zeros(100), 100)
        return used, launches[-1].num_warps, compat.acted()

    used, tuned, acted = in_fork(run)
    assert (used, tuned, acted) == ([2, 1, 2], 1, ["compiler_crash"])


def told(said):
    return [
        str(w.message)
        for w in said
        if issubclass(w.category, compat.CompatWarning) and "without the guard" in str(w.message)
    ]


@pytest.mark.one_release
def test_no_room_for_a_process_is_a_launch_without_the_guard(in_fork):
    def run():
        compat.install(guard="always")
        virtual_gpu.activate(targets.SM_90)
        fork = system.fork

        def refused():
            raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")

        system.fork = refused
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            unguarded = [launch(4), launch(8)]
        system.fork = fork
        return unguarded, told(said), launch(2)

    unguarded, said, guarded = in_fork(run)
    assert (unguarded, guarded) == ([4, 8], 2)
    assert len(said) == 1 and "Resource temporarily unavailable" in said[0] and "ulimit" in said[0]


# From none, with which no Triton compiles, to what a compilation needs that has no guard.
@pytest.mark.parametrize("free", [0, 2, 5, 9])
def test_without_descriptors_the_launch_ends_as_tritons_own(in_fork, free):
    def run(guard):
        compat.install(guard=guard)
        if guard == "off":
            virtual_gpu.activate.__globals__["contain"] = lambda patches: None
        virtual_gpu.activate(targets.SM_90)
        # What is imported at the first compilation; the child that it left would need no descriptors.
        launch(4)
        worker.forget()
        limit = max(map(int, os.listdir("/proc/self/fd"))) + 1
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
        with contextlib.suppress(OSError):
            while True:
                os.open("/dev/null", os.O_RDONLY)
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit + free, hard))
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            try:
                # Not what the other has left in Triton's cache.
                end = launch(8, BLOCK=32 if guard == "off" else 64)
            except Exception as error:
                end = type(error).__name__
        return end, len(told(said))

    bare, _ = in_fork(lambda: run("off"))
    guarded, said = in_fork(lambda: run("always"))
    assert guarded == bare
    # Three pipes and a lock.
    assert said == (free < 7), guarded
