"""How torch 2.3 has Triton compile and launch, on a Triton that has it otherwise."""

import sys

import pytest
import targets
import torch
import triton

from crosswarp import compat
from crosswarp.compat.shims import attrs_descriptor, common_backend
from crosswarp.kernels.known_issues import common_backend as case
from crosswarp.matrix.cell.standins import virtual_gpu
from crosswarp.matrix.cell.standins.virtual_gpu import launches, launching

pytestmark = pytest.mark.triton(">=3.0")


def _beside(version):
    # The torch of this column is another: what it would be beside is all that the shims ask.
    for shim in (attrs_descriptor, common_backend):
        shim.torch_version = lambda: version


def test_it_is_red_bare_and_green_shimmed(in_fork):
    def run():
        virtual_gpu.activate(targets.SM_80)
        try:
            case.launch(torch.ones(50))
            bare = "green"
        except ImportError as error:
            bare = str(error)
        _beside("2.3.1")
        compat.install()
        handed = []
        launching.run_with(lambda one: handed.append(one.arguments))
        case.launch(torch.ones(50))
        here = [len(arguments) for arguments in handed]
        compat.uninstall()
        return bare, [launch.num_warps for launch in launches], here, "triton.common" in sys.modules

    bare, warps, handed, left = in_fork(run)
    assert bare == "No module named 'triton.common'"
    assert warps == [4] and not left
    # What torch leaves out is filled in where Triton wants all of them: from 3.3 on BLOCK as well.
    assert handed in ([3], [4])


def test_tritons_own_launches_are_as_before(in_fork):
    def run():
        _beside("2.3.1")
        compat.install()
        virtual_gpu.activate(targets.SM_80)
        x = torch.ones(50)
        case._double_kernel[(1,)](x, torch.empty_like(x), 50, BLOCK=64)
        return len(launches)

    assert in_fork(run) == 1


def test_an_enter_hook_hears_of_the_launch(in_fork):
    def run():
        _beside("2.3.1")
        compat.install()
        virtual_gpu.activate(targets.SM_80)
        from triton.compiler import CompiledKernel

        heard = []

        def hook(metadata):
            heard.append(metadata.get()["name"])

        # Breakpoint: Triton 3.4 has knobs, and 3.6 a chain of hooks.
        knobs = sys.modules.get("triton.knobs")
        if knobs is None:
            CompiledKernel.launch_enter_hook = staticmethod(hook)
        elif hasattr(knobs.runtime.launch_enter_hook, "add"):
            knobs.runtime.launch_enter_hook.add(hook)
        else:
            knobs.runtime.launch_enter_hook = hook
        case.launch(torch.ones(50))
        return heard

    assert in_fork(run) == ["_double_kernel"]


@pytest.mark.parametrize("version", ["2.4.1", "2.15.0", None])
def test_beside_a_later_torch_nothing_is_replaced(in_fork, version):
    def run():
        before = (triton.compile, triton.compiler.CompiledKernel._init_handles)
        _beside(version)
        compat.install(only=["common_backend"])
        after = (triton.compile, triton.compiler.CompiledKernel._init_handles)
        return before == after, hasattr(triton, "common"), "triton.common" in sys.modules

    assert in_fork(run) == (True, False, False)
