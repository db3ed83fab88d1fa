"""The launch uses what the kernel sees, however the kernel got it; other kernels are left alone."""

import small_kernels
import targets
import torch
import triton
from triton.runtime.autotuner import Autotuner, Config
from triton.runtime.jit import JITFunction

from crosswarp import compat
from crosswarp.compat.isolate import run_isolated
from crosswarp.compat.launch import ready_to_fork
from crosswarp.compat.seams import runs
from crosswarp.compat.versions import in_window
from crosswarp.matrix.cell.standins import virtual_gpu
from crosswarp.matrix.cell.standins.virtual_gpu import launches

HAS_AMD = in_window(">=3.0", triton.__version__)


def launched(kernel, *args, **options):
    """(num_warps, num_stages) of one launch, or the text of what it raised."""
    launches.clear()
    try:
        kernel[(1,)](torch.ones(100), torch.zeros(100), *args, **options)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return launches[-1].num_warps, launches[-1].num_stages


def ways():
    declares, defaults = small_kernels.declares_num_warps, small_kernels.defaults_num_warps
    return {
        "position": launched(declares, 100, 64, 2),
        "not a power of two": launched(declares, 100, 64, 3),
        "default": launched(defaults, 100, 64),
        "keyword": launched(defaults, 100, 64, num_warps=8),
        "declares none": launched(small_kernels.scaled, 100, 64, num_warps=2),
    }


def test_position_and_default_reach_the_launch(in_fork):
    def run():
        virtual_gpu.activate(targets.SM_90)
        bare = ways()
        compat.install()
        return bare, ways(), compat.acted()

    bare, shimmed, acted = in_fork(run)
    stages = bare["declares none"][1]
    assert bare["position"] == bare["default"] == (4, stages)
    assert shimmed["position"] == (2, stages)
    assert shimmed["default"] == (2, 5)
    assert shimmed["keyword"] == (8, 5)
    # what no launch can have stays what it was
    assert shimmed["not a power of two"] == bare["not a power of two"] == (4, stages)
    assert shimmed["declares none"] == bare["declares none"] == (2, stages)
    assert "num_warps_parameter" in acted


def tuner(**options):
    return triton.autotune(
        configs=[triton.Config({"BLOCK": 64, "num_warps": 2}, **options)], key=[]
    )(small_kernels.declares_num_warps)


def test_meta_parameters_reach_the_launch_decorated_before_or_after(in_fork):
    def run():
        virtual_gpu.activate(targets.SM_90)
        before = tuner()
        bare = launched(before, 100)
        compat.install()
        return (
            bare,
            launched(before, 100),
            launched(tuner(), 100),
            launched(tuner(num_warps=8), 100),
        )

    bare, before, after, both = in_fork(run)
    if HAS_AMD:
        assert bare[0] == 4
    else:
        assert "multiple values for keyword argument 'num_warps'" in bare
    assert before[0] == after[0] == 2
    # Triton's own rule where both are given
    assert both[0] == 8


def test_nothing_above_the_limit_of_a_block(in_fork):
    def run():
        virtual_gpu.activate(targets.GFX942)
        compat.install()
        return launched(small_kernels.declares_num_warps, 100, 64, 32)

    if HAS_AMD:
        assert in_fork(run)[0] == 16


def test_undone(in_fork):
    def run():
        def owned():
            classes = (
                (Config, "__init__"),
                (JITFunction, "compile"),
                (JITFunction, "run"),
                (Autotuner, "run"),
            )
            return [vars(owner).get(name) for owner, name in classes]

        virtual_gpu.activate(targets.SM_90)
        own, before = owned(), tuner()
        config = before.configs[0]
        with compat.installed():
            launch = launched(before, 100)
            inside = config.num_warps
        with compat.installed():
            pass
        return own == owned(), launch[0], inside, config.num_warps, config.kwargs

    assert in_fork(run) == (True, 2, 2, 4, {"BLOCK": 64, "num_warps": 2})


def test_the_heap_is_walked_at_the_first_launch_alone(in_fork, monkeypatch):
    def run():
        walked, own = [], runs.existing

        def existing(*kinds):
            walked.append(kinds)
            return own(*kinds)

        monkeypatch.setattr(runs, "existing", existing)
        virtual_gpu.activate(targets.SM_90)
        compat.install()
        installed = len(walked)
        for _ in range(2):
            launched(small_kernels.scaled, 100, 64)
        return installed, len(walked)

    assert in_fork(run) == (0, 1)


def test_in_a_child_of_a_process_that_has_looked_before_it_forked(in_fork):
    def run():
        # Before Triton 3.4 whoever decorates wants a GPU.
        virtual_gpu.activate(targets.SM_90)
        small_kernels.tuned = before = tuner()

        def child(send):
            after = tuner()
            compat.install()
            return launched(before, 100)[0], launched(after, 100)[0]

        def forked():
            return run_isolated(child, time_limit=100).value

        each_looks = forked()
        ready_to_fork()
        late = triton.Config({"num_warps": 2})
        return each_looks, forked(), late.num_warps

    assert in_fork(run) == ((2, 2), (2, 2), 4)
