"""A case launched again with other numbers of warps: errors, bits, and what cannot be launched."""

import emulate_kernels
import pytest
import targets
import torch
from test_emulate import machine

from crosswarp.matrix.cell.judging import numbers, warps
from crosswarp.matrix.cell.judging.compare import compare
from crosswarp.matrix.cell.judging.verdict import of_error


@pytest.mark.parametrize(
    "name", ["SM_80", pytest.param("GFX942", marks=pytest.mark.triton(">=3.0"))]
)
def test_each_number_of_warps_has_errors_and_bits(in_fork, name):
    def run():
        from triton.runtime.jit import JITFunction

        made = machine(getattr(targets, name))
        before = JITFunction.run
        launched = []
        x = torch.randn(100)

        def launch():
            made.begin()
            y = torch.zeros(100)
            try:
                emulate_kernels.times[(1,)](x, y, 100, BLOCK=128, FACTOR=3, num_warps=2)
            except Exception as error:
                return of_error(error)
            launched.append(made.resources()["emulated"]["launches"])
            found = compare({"y": y}, {"y": x * 3}, 1e-6)
            found.resources.update(inputs="i", outputs=numbers.digests({"y": y}))
            return found

        found = warps.tried([1, 4, 32], launch)
        return found, launched, JITFunction.run is before

    found, launched, restored = in_fork(run)
    assert restored and set(found) == {"1", "4", "32"}
    assert found["1"]["error"] == {"y": 0.0} and found["1"]["bits"] == found["4"]["bits"]
    if name == "GFX942":
        # 32 waves of 64 lanes are more than a workgroup may have.
        assert "limit" in found["32"]["failed"] and launched == [1, 1]
    else:
        assert launched == [1, 1, 1]


def test_the_number_that_a_launcher_asks_for_does_not_count(in_fork):
    def run():
        from crosswarp.matrix.cell.standins.virtual_gpu import launching

        machine(targets.SM_80)
        handed = []
        launching.run_with(handed.append)
        x = torch.randn(100)
        with warps.forced(8):
            emulate_kernels.times[(1,)](x, torch.zeros(100), 100, BLOCK=128, FACTOR=3, num_warps=2)
        emulate_kernels.times[(1,)](x, torch.zeros(100), 100, BLOCK=128, FACTOR=3, num_warps=2)
        return [int(one.metadata["num_warps"]) for one in handed]

    assert in_fork(run) == [8, 2]
