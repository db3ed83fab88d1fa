"""How long a launch keeps the host, in this column."""

import emulate_kernels
import pytest
import targets
import torch

from crosswarp.matrix.cell.asked import AskedSuite
from crosswarp.matrix.cell.kinds.suite import in_child, launch_time
from crosswarp.matrix.cell.kinds.suite.plan import Item
from crosswarp.matrix.cell.standins import virtual_gpu
from crosswarp.matrix.cell.standins.virtual_gpu import launching


def test_calls_are_the_same_each_time_and_nothing_is_left_behind(in_fork):
    def run():
        from triton.runtime.jit import JITFunction

        virtual_gpu.activate(targets.SM_80)
        x, y = torch.zeros(64), torch.zeros(64)

        def launch():
            emulate_kernels.plus_one[(1,)](x, y, 64, BLOCK=64)

        launch()
        before, noted = JITFunction.run, len(launching.launches)
        found = [launch_time.measured(launch) for _ in range(2)]
        return found, JITFunction.run is before, len(launching.launches) - noted

    (one, two), restored, more = in_fork(run)
    assert restored and more == 4
    assert one["launch_calls"] == two["launch_calls"] and one["launch_calls"]["plus_one"] > 10
    assert 0 < one["launch_us"]["plus_one"] < 10_000 and one["pace_us"] > 0


def test_a_launcher_that_raises_or_computes_for_long_has_no_figures(in_fork):
    def run():
        import time

        x, y = torch.zeros(64), torch.zeros(64)

        def computes():
            emulate_kernels.plus_one[(1,)](x, y, 64, BLOCK=64)
            ends = time.process_time() + 0.2
            while time.process_time() < ends:
                pass

        virtual_gpu.activate(targets.SM_80)
        return launch_time.measured(lambda: 1 / 0), launch_time.measured(computes)

    assert in_fork(run) == ({}, {})


def test_a_kernel_with_a_tuner_has_figures(in_fork, tmp_path):
    """The log of configurations stands between the tuner and its kernel."""
    spec = AskedSuite(targets={"sm_80": vars(targets.SM_80)}, time_limit=60, cache=str(tmp_path))

    def run():
        item = Item("sm_80", "compile", "bare", "matmul", "fp32-37x50x41")
        return in_child.run(item, spec, lambda message: None).resources["launch_calls"]

    assert in_fork(run)["_matmul_kernel"] > 10


@pytest.mark.triton(">=3.4")
def test_the_launches_of_the_measurement_record_no_configuration(in_fork, tmp_path):
    spec = AskedSuite(targets={"sm_80": vars(targets.SM_80)}, time_limit=60, cache=str(tmp_path))

    def run():
        sent = []
        item = Item("sm_80", "compile", "bare", "autotune_arguments", "class")
        in_child.run(item, spec, sent.append)
        return [config for config, verdict, _ in sent if verdict is not None]

    recorded = in_fork(run)
    assert len(recorded) == len({config.partition(" #")[0] for config in recorded}) == 2
