"""The guard on this column's Triton: it forks on a miss only, survives a dead compiler, remembers it, falls back."""

import contextlib
import os
import signal
import warnings
from pathlib import Path

import pytest
import small_kernels
import targets
import torch
from triton.compiler import compiler

from crosswarp import compat
from crosswarp.compat import guard, locks, system
from crosswarp.compat.record import Patches
from crosswarp.matrix.cell.judging.tuning import ConfigLog
from crosswarp.matrix.cell.standins import virtual_gpu
from crosswarp.matrix.cell.standins.virtual_gpu import launches


def die_above(num_warps, how=os.abort):
    """From here on this Triton's compiler dies for more than `num_warps` warps: what an assertion in C++ does."""
    make_ir = compiler.ASTSource.make_ir

    def make(self, *args, **kwargs):
        options = next(arg for arg in args if hasattr(arg, "num_warps"))
        if options.num_warps > num_warps:
            os.write(
                2, b"Layout.cpp:7: Layout Layout::of(int) const: Assertion `rank == 2' failed.\n"
            )
            how()
        return make_ir(self, *args, **kwargs)

    compiler.ASTSource.make_ir = make


def launch(num_warps, BLOCK=128):
    small_kernels.scaled[(1,)](
        torch.ones(100), torch.zeros(100), 100, BLOCK=BLOCK, num_warps=num_warps
    )
    return launches[-1].num_warps


def forks():
    """Counts forks from here on."""
    real, count = system.fork, []

    def counted():
        count.append(1)
        return real()

    system.fork = counted
    return count


def test_only_a_miss_of_the_cache_forks(in_fork):
    def run():
        virtual_gpu.activate(targets.SM_90)
        count = forks()
        launch(4)
        first = len(count)
        small_kernels.scaled.cache.clear() if hasattr(small_kernels.scaled, "cache") else None
        launch(4)
        return first, len(count)

    assert in_fork(run) == (1, 1)


def test_only_the_parent_loads_what_was_compiled(in_fork, tmp_path):
    def run():
        load = compiler.CompiledKernel.__init__

        def noted(self, *args, **kwargs):
            with open(tmp_path / "loads", "a", encoding="ascii") as file:
                file.write(f"{os.getpid()}\n")
            return load(self, *args, **kwargs)

        compiler.CompiledKernel.__init__ = noted
        virtual_gpu.activate(targets.SM_90)
        launch(4), launch(8)
        return os.getpid(), [launch.num_warps for launch in launches]

    parent, used = in_fork(run)
    assert used == [4, 8]
    assert (tmp_path / "loads").read_text().split() == [str(parent)] * 2


def test_who_looks_at_a_kernel_in_the_child_sees_it(in_fork):
    def run():
        virtual_gpu.activate(targets.SM_90)
        guard._become_a_child()
        kernel = small_kernels.scaled.warmup(
            torch.float32, torch.float32, 100, BLOCK=64, num_warps=2, grid=(1,)
        )
        return sorted(kernel.asm)

    assert {"ttir", "ptx"} <= set(in_fork(run))


@pytest.mark.triton("<3.0")
def test_one_launcher_is_built_for_parent_and_child_and_every_block(in_fork, tmp_path):
    def run():
        import triton.compiler.make_launcher as launcher
        from triton.compiler.backends.cuda import CUDABackend

        def build(name, src, folder):
            with open(tmp_path / "builds", "a", encoding="ascii") as file:
                file.write(f"{os.getpid()}\n")
            return src

        launcher._build = build
        real = CUDABackend.make_launcher_stub
        virtual_gpu.activate(targets.SM_90)
        virtual = CUDABackend.make_launcher_stub
        CUDABackend.make_launcher_stub = lambda *args: real(*args) and virtual(*args)
        for block in (64, 128):
            # One argument is folded away because it is 1.
            small_kernels.scaled[(1,)](torch.ones(100), torch.zeros(100), 1, BLOCK=block)
        return os.getpid(), len(launches)

    parent, launched = in_fork(run)
    builds = (tmp_path / "builds").read_text().split()
    assert launched == 2 and len(builds) == 1 and builds != [str(parent)]


def test_a_dead_compiler_is_an_exception_with_its_last_words(in_fork):
    def run():
        die_above(4)
        virtual_gpu.activate(targets.SM_90)
        try:
            launch(8)
        except compat.CompilerCrashed as crash:
            return crash.kind, crash.reason, crash.stderr, launch(4)

    kind, reason, stderr, survivor = in_fork(run)
    assert (kind, reason, survivor) == ("signal", "SIGABRT", 4)
    assert "Assertion `rank == 2' failed" in stderr


def test_a_direct_launch_falls_back_remembers_and_says_so_once(in_fork):
    def run():
        die_above(2)
        compat.install(guard="always")
        virtual_gpu.activate(targets.SM_80)
        count = forks()
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            used = [launch(16), launch(16)]
        told = [
            str(warning.message)
            for warning in said
            if issubclass(warning.category, compat.CompatWarning)
        ]
        return used, told, len(count), compat.acted()

    used, told, forked, acted = in_fork(run)
    assert used == [2, 2]
    assert len(told) == 1 and "num_warps=16 kills this compiler, launched with 2" in told[0]
    # 16, 8 and 4 died, 2 lived; the second launch found the kernel in memory.
    assert (forked, acted) == (4, ["compiler_crash"])


def test_another_process_does_not_walk_into_it_again(in_fork):
    def run():
        die_above(2)
        compat.install(guard="always")
        virtual_gpu.activate(targets.SM_90)
        count = forks()
        return launch(16), len(count)

    assert in_fork(run) == (2, 4)
    assert in_fork(run) == (2, 0)
    remembered = list((Path(os.environ["CROSSWARP_CACHE_DIR"]) / "crashes").glob("*.json"))
    assert len(remembered) == 3


def test_an_autotuner_drops_what_kills_the_compiler(in_fork):
    def run():
        die_above(4)
        compat.install(guard="always")
        virtual_gpu.activate(targets.SM_90)
        seen = []
        ConfigLog(
            lambda config: None,
            lambda config, verdict: seen.append((verdict.outcome, verdict.reason)),
        ).install()
        tuned = small_kernels.tuned()
        tuned[(1,)](torch.ones(100), torch.zeros(100), 100)
        return seen, launches[-1].num_warps

    seen, used = in_fork(run)
    assert seen == [("pass", ""), ("pass", ""), ("pass", "configuration dropped")]
    assert used == 1


def test_nothing_lower_survives(in_fork):
    def run():
        die_above(0)
        compat.install(guard="always")
        virtual_gpu.activate(targets.SM_90)
        try:
            launch(4)
        except compat.CompilerCrashed as crash:
            return str(crash)

    assert "compiler died (SIGABRT)" in in_fork(run)


def test_an_endless_compilation_ends_and_is_not_remembered(in_fork, monkeypatch):
    monkeypatch.setenv(guard.TIME_LIMIT_ENV, "2")

    def spin():
        while True:
            pass

    def run():
        die_above(4, how=spin)
        virtual_gpu.activate(targets.SM_90)
        try:
            launch(8)
        except compat.CompilerCrashed as crash:
            return crash.kind

    assert in_fork(run) == "timeout"
    assert not (Path(os.environ["CROSSWARP_CACHE_DIR"]) / "crashes").exists()


def test_a_kill_from_outside_is_not_remembered(in_fork):
    def run():
        die_above(4, how=lambda: os.kill(os.getpid(), signal.SIGKILL))
        virtual_gpu.activate(targets.SM_90)
        try:
            launch(8)
        except compat.CompilerCrashed as crash:
            return crash.reason

    assert in_fork(run) == "SIGKILL"
    assert not (Path(os.environ["CROSSWARP_CACHE_DIR"]) / "crashes").exists()


def test_what_is_known_counts_for_the_settings_that_it_was_learnt_with(in_fork, monkeypatch):
    def run():
        die_above(4)
        virtual_gpu.activate(targets.SM_90)
        count = forks()
        with contextlib.suppress(compat.CompilerCrashed):
            launch(8)
        return len(count)

    assert [in_fork(run), in_fork(run)] == [1, 0]
    # one that Triton itself puts into the key of its cache
    monkeypatch.setenv("DISABLE_MMA_V3", "1")
    assert in_fork(run) == 1


@pytest.mark.triton(">=3.0,<3.3")
def test_a_pass_that_kills_the_compiler_is_left_out(in_fork):
    """The kernel of triton-11682: aborts bare, and keeps its warps without the pass. Others are compiled with it."""

    def run():
        from crosswarp.compat import left_out_pass
        from crosswarp.kernels import load

        compat.install()
        virtual_gpu.activate(targets.SM_90)
        kernel = load("thread_locality")
        for case in (case for case in kernel.cases if case.id in ("twice", "read")):
            given = kernel.inputs(case, torch.device("cpu"), torch.Generator())
            kernel.launch(**given)
        left_out = left_out_pass._state.leaving_out
        return [used.num_warps for used in launches], compat.acted(), left_out

    assert in_fork(run) == ([4, 4], ["compiler_crash", "thread_locality"], "")


@pytest.mark.triton(">=3.0,<3.2")
def test_the_pass_of_amd_that_kills_the_compiler_is_left_out(in_fork):
    """A store of what a loop carries: a segmentation fault bare, and right without the pass; not on NVIDIA."""

    def run():
        from crosswarp.kernels import load

        compat.install()
        virtual_gpu.activate(targets.GFX942)
        kernel = load("carried_store")
        for case in kernel.cases:
            given = kernel.inputs(case, torch.device("cpu"), torch.Generator())
            kernel.launch(**given)
        return [used.num_warps for used in launches], compat.acted()

    assert in_fork(run) == ([4, 4], ["compiler_crash"])


def test_guards_around_each_other_wait_for_no_lock(in_fork):
    """What raises in the child is compiled once more here, through the other guard, under the lock of the first."""

    def run():
        virtual_gpu.activate(targets.SM_90)
        for _ in range(2):
            guard.install(Patches())
        held, real = [], locks.held

        @contextlib.contextmanager
        def noted(folder, key, seconds):
            held.append(key)
            with real(folder, key, 0.0) as waited:
                yield waited

        locks.held = noted
        with pytest.raises(Exception, match="."):
            small_kernels.scaled[(1,)](torch.ones(100), torch.zeros(100), 100, BLOCK=100)
        return len(held)

    assert in_fork(run) == 1


# Before 3.3 the exception is that of a pass, whose output is attached in any case.
@pytest.mark.triton(">=3.3")
def test_the_output_of_a_failed_compilation_is_attached_on_request(in_fork):
    def run():
        virtual_gpu.activate(targets.SM_90, guarded=False)
        guard.install_with(Patches(), lambda crash, *_: None)
        outputs = []
        for read in (lambda: None, guard.read_output):
            read()
            try:
                small_kernels.widened[(1,)](torch.zeros(64), torch.zeros(1), BLOCK=64)
            except Exception as error:
                outputs.append(getattr(error, "compiler_output", ""))
        return outputs

    without, with_output = in_fork(run)
    assert without == "" and "op type mismatch on combine operation" in with_output
