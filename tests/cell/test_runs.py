"""A launch costs what it costs without compat: only kernels with a parameter bound wrong have a run of their own."""

import functools
import importlib

import pytest
import targets
import torch
import triton
import triton.language as tl

from crosswarp import compat
from crosswarp.matrix.cell.standins import virtual_gpu

pytestmark = pytest.mark.triton("<3.0")


@triton.jit
def plain(x, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(x + at, at)


@triton.jit
def with_warps(x, BLOCK: tl.constexpr, num_warps: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(x + at, at + num_warps)


def launch(kernel, **options):
    return kernel[(1,)](torch.zeros(64, dtype=torch.int32), BLOCK=64, **options)


def made_later():
    return importlib.reload(importlib.import_module(__name__)).with_warps


def jit():
    return importlib.import_module("triton.runtime.jit").JITFunction


@pytest.fixture(autouse=True)
def on_hopper():
    virtual_gpu.activate(targets.SM_90, guarded=False)


def test_other_kernels_are_launched_by_tritons_own_function(in_fork):
    def run():
        own = vars(jit())["run"]
        compat.install()
        launch(plain)
        installed = vars(jit())["run"] is own, "run" in vars(plain), "run" in vars(with_warps)
        # They were made before.
        warps = (
            launch(with_warps, num_warps=2).num_warps,
            launch(made_later(), num_warps=8).num_warps,
        )
        compat.uninstall()
        return installed, warps, vars(jit())["run"] is own, "run" in vars(with_warps)

    assert in_fork(run) == ((True, False, True), (2, 8), True, False)


@pytest.mark.parametrize("first", [plain, with_warps])
def test_the_first_launch_may_be_of_either(in_fork, first):
    def run():
        compat.install()
        for kernel in (first, plain, with_warps):
            launch(kernel, num_warps=2)
        return with_warps.cache and vars(plain).get("run")

    assert in_fork(run) is None


@pytest.mark.parametrize("launched_before", [False, True])
def test_whoever_replaces_it_later_is_called_for_every_kernel(in_fork, launched_before):
    def run():
        own = vars(jit())["run"]
        compat.install()
        if launched_before:
            launch(plain)
        below, seen = jit().run, []

        @functools.wraps(below)
        def theirs(kernel, *args, **kwargs):
            seen.append(kernel.fn.__name__)
            return below(kernel, *args, **kwargs)

        jit().run = theirs
        for kernel in (plain, with_warps, plain, with_warps):
            launch(kernel, num_warps=2)
        compat.uninstall()
        kept = vars(jit())["run"] is theirs
        launch(plain)
        return set(seen), len(seen) >= 5, kept, below is own

    assert in_fork(run) == ({"plain", "with_warps"}, True, True, launched_before)
