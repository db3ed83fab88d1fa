"""The autotuner of this column with the arguments of all, without a GPU, and with configurations that fail."""

import inspect
import warnings

import pytest
import small_kernels
import targets
import torch
import triton
import triton.language as tl
from triton.runtime.autotuner import Autotuner

from crosswarp import compat
from crosswarp.compat.versions import in_window
from crosswarp.matrix.cell.standins import virtual_gpu
from crosswarp.matrix.cell.standins.virtual_gpu import launches

VERSION = triton.__version__


@triton.jit
def key_last(x, BLOCK: tl.constexpr, KEY: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(x + at, at * KEY)


@triton.jit
def optional_sums(x, total, nothing, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    some = tl.load(x + at, mask=at < n, other=0.0)
    tl.atomic_add(total, tl.sum(some, 0))
    if nothing is not None:
        tl.atomic_add(nothing, tl.max(some, 0))


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

        return launch(tuned(do_bench=slower_first(calls), cache_results=False)), calls

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


class Derived(Autotuner):
    """As libraries derive theirs, with every argument of Triton 3.9."""

    def __init__(self, fn, *args, **kwargs):
        super().__init__(fn, fn.arg_names, *args, **kwargs)
        self.own_hooks = self.user_defined_pre_hook, self.user_defined_post_hook


def slower_first(calls):
    def do_bench(call, quantiles):
        call()
        calls.append(quantiles)
        return [10.0 - len(calls)] * 3

    return do_bench


# (pre_hook, post_hook, prune_configs_by, warmup, rep, use_cuda_graph, do_bench, cache_results)
@pytest.mark.parametrize("way", ["by name", "by position", "class of Triton's"])
def test_a_derived_autotuner_takes_every_argument(in_fork, way):
    def run():
        compat.install()
        virtual_gpu.activate(targets.SM_90)
        seen, calls = [], []
        given = {
            "pre_hook": lambda named, reset_only=False: seen.append(
                ("pre", named["n"], reset_only)
            ),
            "post_hook": lambda named, exception: seen.append(("post", "x" in named, exception)),
            "prune_configs_by": {"early_config_prune": lambda all, named, **_: all[:2]},
            "warmup": None,
            "rep": None,
            "use_cuda_graph": False,
            "do_bench": slower_first(calls),
            "cache_results": False,
        }
        configs = [triton.Config({"BLOCK": 64 * n}, num_warps=2 * n) for n in (1, 2, 4)]
        rest = (configs, ["n"], None, None)
        kernel = small_kernels.scaled
        if way == "by position":
            tuner = Derived(kernel, *rest, *given.values())
        elif way == "by name":
            tuner = Derived(kernel, *rest, **given)
        else:
            tuner = Autotuner(kernel, kernel.arg_names, *rest, **given)
        launches.clear()
        # by keyword, as libraries do
        tuner[(1,)](x=torch.ones(100), y=torch.zeros(100), n=100)
        held = [name for name, value in vars(tuner).items() if isinstance(value, tuple)]
        return seen, len(calls), launches[-1].num_warps, tuner.keys, "_arguments" in held

    seen, measured, used, keys, held = in_fork(run)
    assert seen == [("pre", 100, False), ("post", True, None)] * 2 + [("pre", 100, True)]
    assert (measured, used, keys, held) == (2, 4, ["n"], False)


def test_zeroed_and_restored_arguments_given_by_keyword(in_fork):
    def run():
        compat.install()
        virtual_gpu.activate(targets.SM_90)
        x, y, before = torch.ones(100), torch.ones(100), []

        def do_bench(call, quantiles):
            y.fill_(7)
            call()
            before.append(float(y.sum()))
            x.fill_(1)
            return [1.0] * 3

        configs = [triton.Config({"BLOCK": block}) for block in (64, 128)]
        tuner = Derived(small_kernels.scaled, configs, ["n"], ["y"], ["x"], do_bench=do_bench)
        tuner[(1,)](x=x, y=y, n=100)
        return before, float(y.sum()), float(x.sum()), tuner.reset_to_zero, tuner.restore_value

    assert in_fork(run) == ([0.0, 0.0], 0.0, 100.0, ["y"], ["x"])


def test_a_key_behind_a_tuned_parameter(in_fork):
    def run():
        compat.install()
        virtual_gpu.activate(targets.SM_90)
        calls = []
        configs = [triton.Config({"BLOCK": block}) for block in (64, 128)]
        tuner = Derived(key_last, configs, ["KEY"], None, None, do_bench=slower_first(calls))
        for key in (1, 1, 2):
            tuner[(1,)](torch.zeros(128), KEY=key)
        return len(calls), [key[0] for key in tuner.cache]

    assert in_fork(run) == (4, [1, 2])


def test_a_post_hook_is_told_of_an_exception(in_fork):
    def run():
        compat.install()
        virtual_gpu.activate(targets.SM_90)
        told = []
        kernel = tuned(
            small_kernels.asserts_a_small_block,
            (128, 64),
            post_hook=lambda args, exception: told.append(type(exception).__name__),
        )
        return launch(kernel), told

    assert in_fork(run) == (2, ["CompileTimeAssertionFailure", "NoneType"])


def test_deprecated_ways_to_measure_take_precedence_of_do_bench(in_fork):
    def run():
        compat.install()
        virtual_gpu.activate(targets.SM_90)
        calls = []
        launch(tuned(do_bench=slower_first(calls), warmup=1, rep=1))
        return calls

    assert in_fork(run) == []


def test_wrong_arguments_of_the_class_are_refused(in_fork):
    def run():
        kernel, said = small_kernels.scaled, []
        with compat.installed():
            for args, kwargs in (
                ((kernel, ["n"], [], ["n"], None, None), {"no_such": 1}),
                ((kernel,), {}),
                (tuple(range(15)), {}),
            ):
                with pytest.raises(TypeError) as raised:
                    Autotuner(*args, **kwargs)
                said.append(str(raised.value))
        return said

    unknown, missing, _ = in_fork(run)
    assert "no_such" in unknown and "arg_names" in missing


@pytest.mark.parametrize("way", ["autotune", "by name", "by position"])
def test_a_key_that_is_no_argument_is_left_out(in_fork, way):
    def run():
        compat.install()
        virtual_gpu.activate(targets.SM_90)
        kernel, calls = small_kernels.scaled, []
        configs = [triton.Config({"BLOCK": block}) for block in (64, 128)]
        names = ["n", "CHUNKS"]
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            if way == "autotune":
                tuner = triton.autotune(configs, key=names, do_bench=slower_first(calls))(kernel)
            elif way == "by name":
                tuner = Derived(kernel, configs=configs, key=names, reset_to_zero=None,
                                restore_value=None, do_bench=slower_first(calls))  # fmt: skip
            else:
                tuner = Derived(kernel, configs, names, None, None, do_bench=slower_first(calls))
        tuner[(1,)](torch.ones(100), torch.zeros(100), 100)
        told = [str(one.message) for one in said if "CHUNKS" in str(one.message)]
        return len(calls), [key[0] for key in tuner.cache], len(told), names

    measured, keys, told, names = in_fork(run)
    assert (measured, keys, names) == (2, [100], ["n", "CHUNKS"])
    # 3.2 to 3.8 leave it out by themselves, without a word
    assert told == (not in_window(">=3.2,<3.9", VERSION))


def test_an_unknown_name_to_zero_stays_an_error(in_fork):
    def run():
        compat.install()
        virtual_gpu.activate(targets.SM_90)
        try:
            launch(tuned(reset_to_zero=["no_such"]))
        except (KeyError, ValueError) as error:
            return str(error)

    assert "no_such" in in_fork(run)


def test_of_two_to_zero_and_to_restore_the_one_that_is_there_is(in_fork):
    def run():
        compat.install()
        virtual_gpu.activate(targets.SM_90)
        x, total, before = torch.ones(100), torch.ones(1), []

        def do_bench(call, quantiles):
            total.fill_(7)
            call()
            before.append(float(total))
            x.fill_(1)
            return [1.0] * 3

        lists = ["total", "nothing"], ["x", "nothing"]
        configs = [triton.Config({"BLOCK": block}) for block in (64, 128)]
        tuner = Derived(optional_sums, configs, ["n"], *lists, do_bench=do_bench)
        tuner[(1,)](x, total, None, 100)
        return before, float(total), float(x.sum()), tuner.reset_to_zero, tuner.restore_value

    expected = [0.0, 0.0], 0.0, 100.0, ["total", "nothing"], ["x", "nothing"]
    assert in_fork(run) == expected


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


def test_what_is_to_be_zeroed_is_where_the_last_configuration_was_dropped(in_fork):
    """Once after tuning, with the arguments of a configuration that has ended in an error."""

    def run():
        compat.install()
        virtual_gpu.activate(targets.SM_90)
        tuner = tuned(small_kernels.asserts_a_small_block, (64, 128), reset_to_zero=["y"])
        y = torch.ones(100)
        launches.clear()
        tuner[(1,)](torch.ones(100), y, 100)
        return launches[-1].num_warps, float(y.sum())

    assert in_fork(run) == (2, 0.0)


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
