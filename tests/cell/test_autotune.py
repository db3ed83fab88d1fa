"""The autotuner of this column with the arguments of all, without a GPU, and with configurations that fail."""

import inspect

import pytest
import small_kernels
import targets
import torch
import triton
from triton.runtime.autotuner import Autotuner

from crosswarp import compat
from crosswarp.compat.versions import in_window
from crosswarp.matrix import virtual_gpu
from crosswarp.matrix.virtual_gpu import launches

VERSION = triton.__version__


def tuned(kernel=small_kernels.scaled, blocks=(64, 128), **arguments):
    configs = [triton.Config({"BLOCK": block}, num_warps=block // 32) for block in blocks]
    return triton.autotune(configs=configs, key=["n"], **arguments)(kernel)


def launch(kernel):
    launches.clear()
    kernel[(1,)](torch.ones(100), torch.zeros(100), 100)
    return launches[-1].num_warps


def test_do_bench_decides(in_fork):
    def run():
        compat.install()
        virtual_gpu.activate(targets.SM_90)
        calls = []

        def slower_first(call, quantiles):
            call()
            calls.append(tuple(quantiles))
            return [10.0 - len(calls)] * 3

        return launch(tuned(do_bench=slower_first, cache_results=False)), calls

    used, calls = in_fork(run)
    assert (used, calls) == (4, [(0.5, 0.2, 0.8)] * 2)


def test_hooks_are_called(in_fork):
    def run():
        compat.install()
        virtual_gpu.activate(targets.SM_90)
        seen = []
        launch(
            tuned(
                pre_hook=lambda args, reset_only=False: seen.append("pre"),
                post_hook=lambda args, exception: seen.append(exception),
            )
        )
        return seen

    assert in_fork(run)[:4] == ["pre", None, "pre", None]


def test_what_a_library_sees_of_autotune_is_tritons_own_signature(in_fork):
    def run():
        own = inspect.signature(triton.autotune)
        with compat.installed():
            return own == inspect.signature(triton.autotune)

    assert in_fork(run)


# before, nothing asks for a driver here
@pytest.mark.triton(">=3.0")
def test_decorating_needs_no_gpu(in_fork):
    class NoDriver:
        def __getattr__(self, name):
            msg = "0 active drivers ([]). There should only be one."
            raise RuntimeError(msg)

    def run():
        from triton.runtime import driver

        driver.set_active(NoDriver())
        compat.install()
        kernel = tuned()
        virtual_gpu.activate(targets.SM_90)
        return launch(kernel), compat.acted()

    used, acted = in_fork(run)
    assert used == 2
    assert ("autotune_needs_driver" in acted) == in_window(">=3.2,<3.4", VERSION)


def test_a_failed_static_assert_drops_its_configuration(in_fork):
    def run():
        compat.install()
        virtual_gpu.activate(targets.SM_90)
        return launch(tuned(small_kernels.asserts_a_small_block, (128, 64)))

    assert in_fork(run) == 2


def test_where_none_survives_the_error_is_tritons(in_fork):
    def run():
        compat.install()
        virtual_gpu.activate(targets.SM_90)
        try:
            launch(tuned(small_kernels.asserts_a_small_block, (128, 256)))
        except Exception as error:
            return type(error).__name__

    assert in_fork(run) == "CompileTimeAssertionFailure"


def test_undone(in_fork):
    def run():
        names = ("__init__", "_bench", "run")
        own = [vars(Autotuner).get(name) for name in names] + [triton.autotune]
        with compat.installed():
            pass
        return own == [vars(Autotuner).get(name) for name in names] + [triton.autotune]

    assert in_fork(run)
