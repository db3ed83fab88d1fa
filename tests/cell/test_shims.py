"""Each shim on this column's Triton: red bare and green shimmed inside its window, nothing replaced outside it."""

import sys
import warnings

import pytest
import small_kernels
import targets
import torch
import triton

from crosswarp import compat
from crosswarp.compat.install import wanted_shims
from crosswarp.compat.record import Patches
from crosswarp.compat.versions import in_window
from crosswarp.matrix.cell.standins import virtual_gpu
from crosswarp.matrix.cell.standins.virtual_gpu import launches

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
        virtual_gpu.activate(targets.SM_80)
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

    assert in_fork(lambda: run(targets.SM_80)) == ([32, 32], [], [])
    if HAS_AMD:
        results, told, acted = in_fork(lambda: run(targets.GFX942))
        assert (results, acted) == ([16, 16], ["wavefront_limit"])
        assert len(told) == 1 and "launched with num_warps=16" in told[0]


def tritons_attributes():
    """(owner, name) -> value, for every module of Triton and every class in one, and for its backends."""
    found = {}
    # Their modules are registered nowhere else.
    for backend in getattr(sys.modules.get("triton.backends"), "backends", {}).values():
        found.update({(backend.compiler, name): v for name, v in vars(backend.compiler).items()})
    for title, module in list(sys.modules.items()):
        if title.partition(".")[0] != "triton":
            continue
        owners = [module] + [v for v in vars(module).values() if isinstance(v, type)]
        for owner in owners:
            if owner is module or owner.__module__ == title:
                for name, value in list(vars(owner).items()):
                    if name not in ("__warningregistry__", "__abstractmethods__", "_abc_impl"):
                        found[(owner, name)] = value
    return found


def changes(before, after):
    """What is another object now. A module that a shim brought counts as one, not with all that is in it."""
    missing, owners = object(), {owner for owner, _ in before}
    return {
        (getattr(owner, "__qualname__", owner.__name__), name)
        for owner, name in before.keys() | after.keys()
        if owner in owners
        and before.get((owner, name), missing) is not after.get((owner, name), missing)
    }


def test_only_the_shims_of_this_version_replace_anything_and_uninstall_restores_all(
    in_fork, monkeypatch
):
    def run():
        # What the shims import would count as changed.
        compat.install()
        compat.uninstall()
        before, replaced = tritons_attributes(), set()
        set_ = Patches.set

        def noted(self, owner, name, value):
            replaced.add((getattr(owner, "__qualname__", getattr(owner, "__name__", "")), name))
            set_(self, owner, name, value)

        monkeypatch.setattr(Patches, "set", noted)
        compat.install()
        names = {shim.name for shim in compat.active()}
        changed = changes(before, tritons_attributes())
        compat.uninstall()
        return names, changed, replaced, changes(before, tritons_attributes())

    names, changed, replaced, left = in_fork(run)
    assert names == {shim.name for shim in wanted_shims("auto", VERSION)}
    assert all(in_window(shim.window, VERSION) for shim in wanted_shims("auto", VERSION))
    assert changed <= replaced
    assert left == set()


def acts_here(shim):
    inside = in_window(shim.window, VERSION)
    if shim.name == "common_backend":
        return inside and in_window("<2.4", torch.__version__)
    if shim.name == "attrs_descriptor":
        # A later torch does without: the shim leaves Triton alone beside it.
        asks = "<2.7" if in_window(">=3.3", VERSION) else "<2.6"
        return inside and in_window(asks, torch.__version__)
    return inside


def replaced_by(shim):
    """The attributes that the shim by itself replaces, and those that it leaves replaced."""
    sys.modules["crosswarp.compat.install"].listed = lambda: [shim]
    if acts_here(shim):
        compat.install()
        compat.uninstall()
    before = tritons_attributes()
    compat.install()
    changed = changes(before, tritons_attributes())
    compat.uninstall()
    return changed, changes(before, tritons_attributes())


@pytest.fixture(scope="module")
def alone(forked):
    """The answer for each shim; one after the other in one child, because a child for each takes twice as long."""
    return forked(lambda: {shim.name: replaced_by(shim) for shim in compat.all_shims()})


@pytest.mark.parametrize("shim", compat.all_shims(), ids=lambda shim: shim.name)
def test_each_shim_by_itself_replaces_what_it_says_or_nothing(alone, shim):
    changed, left = alone[shim.name]
    # The interpreter's shims wait for the interpreter, and these for torch's workers and for Gluon.
    waits = shim.name.startswith("interpreter_") or shim.name in ("compile_workers", "gluon_names")
    assert bool(changed) == acts_here(shim) or waits
    assert acts_here(shim) or not changed
    assert left == set()
