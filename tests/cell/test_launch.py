"""crosswarp.compat.launch on this column: num_warps for the GPU at hand, and shims that leave a launch alone."""

import pytest
import small_kernels
import targets
import torch
import triton
from triton.runtime.jit import JITFunction

from crosswarp import compat
from crosswarp.compat import launch
from crosswarp.compat.versions import in_window
from crosswarp.matrix.cell.standins import virtual_gpu
from crosswarp.matrix.cell.standins.virtual_gpu import launches

HAS_AMD = in_window(">=3.0", triton.__version__)


def test_num_warps_asks_the_gpu_at_hand(in_fork):
    def run(target):
        virtual_gpu.activate(target)
        return [launch.num_warps(size) for size in (64, 32768, 65536, 262144)]

    assert in_fork(lambda: run(targets.SM_90)) == [
        launch.num_warps(size, "sm_90") for size in (64, 32768, 65536, 262144)
    ]
    if HAS_AMD:
        on_amd = in_fork(lambda: run(targets.GFX942))
        assert on_amd == [launch.num_warps(size, "gfx942") for size in (64, 32768, 65536, 262144)]
        assert max(on_amd) <= 16


def test_num_warps_without_a_gpu_is_a_number_all_the_same(in_fork):
    assert in_fork(lambda: launch.num_warps(4096)) == launch.num_warps(4096, "sm_90")


def test_a_clamped_launch_tells_the_kernel_as_well(in_fork):
    def run():
        virtual_gpu.activate(targets.GFX942)
        compat.install()
        small_kernels.declares_num_warps[(1,)](
            torch.ones(100), torch.zeros(100), 100, BLOCK=64, num_warps=32
        )
        kernel = small_kernels.defaults_num_warps
        compiled = [
            kernel[(1,)](torch.ones(100), torch.zeros(100), 100, BLOCK=64, num_warps=warps)
            for warps in (16, 32)
        ]
        return [used.num_warps for used in launches], compiled[0].asm["ttir"] == compiled[1].asm[
            "ttir"
        ]

    if HAS_AMD:
        assert in_fork(run) == ([16, 16, 16], True)


def test_after_the_first_launch_no_shim_stands_in_the_way_of_another(in_fork):
    def run():
        own = {name: vars(JITFunction).get(name) for name in ("run", "__getitem__", "warmup")}
        virtual_gpu.activate(targets.SM_90)
        compat.install()
        small_kernels.defaults_num_warps[(1,)](torch.ones(100), torch.zeros(100), 100, BLOCK=64)
        return [name for name in own if vars(JITFunction).get(name) is not own[name]]

    assert in_fork(run) == []


@pytest.mark.triton("<3.0")
def test_a_program_that_wraps_run_itself_wraps_what_is_healed(in_fork):
    def run():
        virtual_gpu.activate(targets.SM_90)
        compat.install()
        healed, seen = JITFunction.run, []

        def counting(kernel, *args, **kwargs):
            seen.append(kernel.__name__)
            return healed(kernel, *args, **kwargs)

        JITFunction.run = counting
        x = torch.ones(100)
        small_kernels.scaled[(1,)](x, x, 100, BLOCK=64, threads_per_warp=None)
        small_kernels.declares_num_warps[(1,)](x, x, 100, BLOCK=64, num_warps=8)
        return seen, [used.num_warps for used in launches]

    assert in_fork(run) == (["scaled", "declares_num_warps"], [4, 8])
