"""The virtual GPU on this column's Triton: real launches, real compilers, nothing executed."""

import small_kernels
import targets
import torch
import triton

from crosswarp.compat.versions import in_window
from crosswarp.matrix import virtual_gpu
from crosswarp.matrix.suite import probe
from crosswarp.matrix.suite.tuning import ConfigLog
from crosswarp.matrix.virtual_gpu import launches

HAS_AMD = in_window(">=3.0", triton.__version__)


def launch(kernel, *args, num_warps=4, **options):
    x, y = torch.ones(100), torch.zeros(100)
    kernel[(1,)](x, y, *args, num_warps=num_warps, **options)
    return y


def test_a_launch_compiles_for_real_and_executes_nothing(in_fork):
    def run():
        virtual_gpu.activate(targets.SM_90)
        y = launch(small_kernels.scaled, 100, BLOCK=128, num_warps=2)
        return y.sum().item(), launches[0]

    total, noted = in_fork(run)
    assert total == 0
    assert (noted.num_warps, noted.grid) == (2, (1, 1, 1))
    # Read from the cubin, not from a driver.
    assert 8 <= noted.registers <= 255 and noted.stack == 0


def test_an_empty_grid_launches_nothing(in_fork):
    def run():
        virtual_gpu.activate(targets.SM_90)
        small_kernels.scaled[(0,)](torch.ones(4), torch.zeros(4), 4, BLOCK=128)
        return len(launches)

    assert in_fork(run) == 0


def test_an_error_in_a_kernel_is_tritons_own_exception(in_fork):
    def run():
        virtual_gpu.activate(targets.SM_90)
        try:
            small_kernels.wrong[(1,)](torch.ones(64), torch.zeros(64), BLOCK=64)
        except Exception as error:
            return str(error)

    assert "no_such_function" in in_fork(run)


def test_an_autotuner_visits_every_configuration(in_fork):
    def run():
        virtual_gpu.activate(targets.SM_90)
        seen = []
        ConfigLog(
            lambda config: None, lambda config, verdict: seen.append((config, verdict.outcome))
        ).install()
        small_kernels.tuned()[(1,)](torch.ones(100), torch.zeros(100), 100)
        return seen

    seen = in_fork(run)
    assert [outcome for _, outcome in seen] == ["pass"] * 3
    assert [config.split(",")[0] for config, _ in seen] == ["BLOCK=64", "BLOCK=128", "BLOCK=256"]


def test_configurations_of_several_tunings_have_names_of_their_own(in_fork):
    def run():
        virtual_gpu.activate(targets.SM_90)
        seen = []
        ConfigLog(lambda config: None, lambda config, verdict: seen.append(config)).install()
        first, second = small_kernels.tuned(), small_kernels.tuned()
        for tuned, size in ((first, 100), (second, 100), (first, 300), (first, 500)):
            tuned[(1,)](torch.ones(size), torch.zeros(size), size)
        return [config for config in seen if "BLOCK=64" in config]

    plain, *others = in_fork(run)
    assert plain.startswith("BLOCK=64,num_stages=")
    assert others == [f"scaled: {plain}", f"{plain} #2", f"{plain} #3"]


def test_a_target_is_asked_whether_it_compiles(in_fork):
    assert probe.why_not(targets.SM_80, 120) == ""
    why = probe.why_not(targets.SM_100, 120)
    assert bool(why) is in_window("<3.3", triton.__version__), why
    assert bool(probe.why_not(targets.GFX942, 120)) is not HAS_AMD


def test_too_many_threads_are_refused_on_wavefronts_of_64(in_fork):
    if not HAS_AMD:
        assert "no backend for" in probe.why_not(targets.GFX942, 120)
        return

    def run():
        virtual_gpu.activate(targets.GFX942)
        try:
            launch(small_kernels.scaled, 100, BLOCK=128, num_warps=32)
        except Exception as error:
            return str(error)

    assert "2048" in in_fork(run) and "1024" in in_fork(run)
