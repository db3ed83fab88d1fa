"""Each shim on this column's Triton: red bare and green shimmed inside its window, nothing replaced outside it."""

import warnings

import pytest
import small_kernels
import targets
import torch
import triton
from triton.runtime.autotuner import Autotuner
from triton.runtime.jit import JITFunction

from crosswarp import compat
from crosswarp.compat.install import wanted_shims
from crosswarp.compat.versions import in_window
from crosswarp.matrix import virtual_gpu
from crosswarp.matrix.virtual_gpu import launches

VERSION = triton.__version__
HAS_AMD = in_window(">=3.0", VERSION)


def attempt(kernel, *args, **options):
    """num_warps of the launch, or the text of what it raised."""
    launches.clear()
    try:
        kernel[(1,)](torch.ones(100), torch.zeros(100), *args, **options)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return launches[0].num_warps


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_declared_launch_option_reaches_kernel_and_launch(in_fork, when):
    def run():
        virtual_gpu.activate(targets.SM_90)
        # Installed after the kernel was decorated; `before`: also after it was launched once.
        if when == "before":
            attempt(small_kernels.declares_num_warps, 100, BLOCK=64, num_warps=1)
        bare = attempt(small_kernels.declares_num_warps, 100, BLOCK=128, num_warps=8)
        compat.install()
        shimmed = attempt(small_kernels.declares_num_warps, 100, BLOCK=128, num_warps=8)
        return bare, shimmed, compat.acted()

    bare, shimmed, acted = in_fork(run)
    if in_window("<3.0", VERSION):
        assert "missing a required argument: 'num_warps'" in bare
        assert acted == ["reserved_options"]
    else:
        assert (bare, acted) == (8, [])
    assert shimmed == 8


def test_a_call_that_does_not_bind_keeps_tritons_own_message(in_fork):
    def run():
        virtual_gpu.activate(targets.SM_90)
        bare = attempt(small_kernels.declares_num_warps, BLOCK=64, num_warps=8)
        compat.install()
        return bare, attempt(small_kernels.declares_num_warps, BLOCK=64, num_warps=8)

    bare, shimmed = in_fork(run)
    assert "TypeError" in bare and "TypeError" in shimmed and "'n'" in shimmed


def test_warps_are_clamped_on_wavefronts_of_64_only(in_fork):
    def run(target):
        virtual_gpu.activate(target)
        compat.install()
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            results = [
                attempt(small_kernels.scaled, 100, BLOCK=128, num_warps=32) for _ in range(2)
            ]
        told = [
            str(warning.message)
            for warning in said
            if issubclass(warning.category, compat.CompatWarning)
        ]
        return results, told, compat.acted()

    assert in_fork(lambda: run(targets.SM_90)) == ([32, 32], [], [])
    if HAS_AMD:
        results, told, acted = in_fork(lambda: run(targets.GFX942))
        assert (results, acted) == ([16, 16], ["wavefront_limit"])
        assert len(told) == 1 and "launched with num_warps=16" in told[0]


def test_on_hardware_with_warps_of_32_the_clamp_takes_itself_away(in_fork):
    def run():
        own = vars(JITFunction)["run"]
        virtual_gpu.activate(targets.SM_90)
        compat.install()
        attempt(small_kernels.scaled, 100, BLOCK=128)
        return vars(JITFunction)["run"] is own

    assert in_fork(run) is not in_window("<3.0", VERSION)


def test_outside_its_window_a_shim_replaces_nothing_and_uninstall_restores_all(in_fork):
    def run():
        import triton.compiler.compiler as compiler

        def attributes():
            owners = {
                "jit": JITFunction,
                "tuner": Autotuner,
                "source": compiler.ASTSource,
                "compiler": triton.compiler,
            }
            return {
                (key, name): id(value)
                for key, owner in owners.items()
                for name, value in vars(owner).items()
                if not name.startswith("__")
            }

        before = attributes()
        compat.install()
        inside = {key for key, value in attributes().items() if before.get(key) != value}
        compat.uninstall()
        return inside, attributes() == before

    changed, restored = in_fork(run)
    expected = set()
    names = {shim.name for shim in wanted_shims("auto", VERSION)}
    if names & {"reserved_options", "wavefront_limit"}:
        expected.add(("jit", "run"))
    if "compiler_crash" in names:
        expected |= {("jit", "compile"), ("tuner", "_bench"), ("source", "make_ir")}
    assert changed == expected
    assert restored
