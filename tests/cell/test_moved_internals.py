"""Internals under the names that they have on another Triton, meaning the same."""

import collections

import pytest
import targets
import torch
import triton

from crosswarp import compat
from crosswarp.compat.versions import in_window
from crosswarp.kernels.known_issues import moved_internals as case
from crosswarp.matrix.cell.standins import virtual_gpu

VERSION = triton.__version__


def test_the_key_is_the_same_in_both_places(in_fork):
    def run():
        compat.install()
        from triton.compiler.compiler import triton_key as earlier
        from triton.runtime.cache import triton_key as later

        return earlier(), later()

    earlier, later = in_fork(run)
    assert earlier == later and len(earlier) >= 32


@pytest.mark.triton(">=3.4")
def test_the_folders_follow_triton_home(in_fork, monkeypatch, tmp_path):
    monkeypatch.setenv("TRITON_HOME", str(tmp_path))

    def run():
        compat.install()
        from triton.runtime import cache

        return [getattr(cache, f"default_{name}_dir")() for name in ("cache", "dump", "override")]

    home = tmp_path / ".triton"
    assert in_fork(run) == [str(home / name) for name in ("cache", "dump", "override")]


@pytest.mark.triton(">=3.4")
def test_a_hook_is_the_one_that_is_called(in_fork):
    def run():
        from triton import knobs
        from triton.compiler import CompiledKernel

        compat.install()
        virtual_gpu.activate(targets.SM_80)
        called = []

        def hook(metadata):
            called.append(metadata)

        without = CompiledKernel.launch_enter_hook
        chain = getattr(knobs.runtime.launch_enter_hook, "add", None)
        if chain:
            chain(hook)
        else:
            knobs.runtime.launch_enter_hook = hook
        # as torch takes it along
        case.launch(torch.ones(50), ask=lambda made: type(made).launch_enter_hook is hook)
        return without, len(called)

    assert in_fork(run) == (None, 1)


def test_a_kernels_metadata_says_how_long_its_clusters_are(in_fork):
    def run():
        compat.install()
        virtual_gpu.activate(targets.SM_80)
        case.launch(torch.ones(50), case._clusters)
        compat.uninstall()
        return True

    assert in_fork(run)


@pytest.mark.triton(">=3.6")
def test_a_kernel_that_torch_makes_of_a_workers_has_them_too(in_fork):
    def run():
        from triton.compiler import CompiledKernel

        compat.install()
        # One class for several kernels, past their own way to be made.
        metadata = collections.namedtuple("KernelMetadata", ["name", "num_ctas"])
        made = []
        for num_ctas in (1, 2):
            kernel = CompiledKernel.__new__(CompiledKernel)
            vars(kernel).update(metadata=metadata("k", num_ctas), module=None)
            made.append(kernel)
        found = [kernel.metadata.cluster_dims for kernel in made]
        compat.uninstall()
        return found, hasattr(CompiledKernel, "metadata"), made[0].metadata.name

    assert in_fork(run) == ([(1, 1, 1), (2, 1, 1)], False, "k")


def test_bare_they_are_where_the_records_say(in_fork):
    def run():
        virtual_gpu.activate(targets.SM_80)
        found = []
        for ask in (case._key, case._folder, case._hooks, case._clusters):
            try:
                case.launch(torch.ones(50), ask)
                found.append(True)
            except (ImportError, AttributeError):
                found.append(False)
        return found

    has_key = in_window(">=3.0,<3.5", VERSION)
    assert in_fork(run) == [
        has_key, *[in_window("<3.4", VERSION)] * 2, in_window("<3.6", VERSION),
    ]  # fmt: skip


def test_a_configuration_tells_all_its_options(in_fork):
    """Whatever `num_warps_parameter` makes of launches; None is no option."""

    def run():
        compat.install()
        made = triton.Config({"BLOCK": 64}, num_warps=2, num_stages=None)
        return made.all_kwargs()

    found = in_fork(run)
    assert found["BLOCK"] == 64 and found["num_warps"] == 2 and found["num_ctas"] == 1
    assert None not in found.values()
