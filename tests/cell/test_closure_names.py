"""Kernels made inside a function, and constants in the key of what is compiled."""

import pytest
import targets
import torch
import triton
import triton.language as tl

from crosswarp import compat
from crosswarp.compat.shims import closure_names, constant_keys
from crosswarp.compat.versions import in_window
from crosswarp.kernels.known_issues import closure_names as made
from crosswarp.kernels.known_issues import constant_keys as case
from crosswarp.matrix.cell.standins import virtual_gpu
from crosswarp.matrix.cell.standins.virtual_gpu import launches

SIZE = tl.constexpr(64)


@triton.jit
def called(x):
    return x * SIZE


@triton.jit
def kernel(x_ptr):
    at = tl.arange(0, SIZE)
    tl.store(x_ptr + at, called(tl.load(x_ptr + at)))


@triton.jit
def without(x_ptr, N: tl.constexpr):
    tl.store(x_ptr + tl.arange(0, N), 0.0)


def installed(*names):
    virtual_gpu.activate(targets.SM_80)
    compat.install(only=names, guard="off")


def test_what_is_around_a_function_is_looked_up_when_it_is_asked_for():
    def outer():
        def inner():
            return late, early

        early = 1
        before = closure_names.Around(inner)
        assert dict(before) == {"early": 1} == before.copy() and "late" not in before
        late = 2
        return before

    assert dict(outer()) == {"early": 1, "late": 2}


@pytest.mark.triton("<3.4")
def test_a_kernel_made_inside_a_function_compiles_and_leaves_others_their_globals(in_fork):
    def run():
        installed("closure_names")
        made.launch(torch.ones(8), 3)
        inside = compat.acted()
        return inside, without.__globals__ is globals(), len(launches)

    assert in_fork(run) == (["closure_names"], True, 1)


@pytest.mark.triton("<3.4")
def test_it_is_refused_again_when_the_shim_is_gone(in_fork):
    def run():
        installed("closure_names")
        compat.uninstall()
        with pytest.raises(Exception, match="is not defined"):
            made.launch(torch.ones(8), 3)
        return kernel.__globals__ is globals()

    assert in_fork(run)


@pytest.mark.triton("<3.5")
def test_a_constant_is_in_the_key_of_the_kernel_that_reads_it_and_of_its_caller(in_fork):
    def run():
        bare = [one.cache_key for one in (kernel, called, without)]
        installed("constant_keys")
        shimmed = [one.cache_key for one in (kernel, called, without)]
        assert shimmed == [one.cache_key for one in (kernel, called, without)]
        found = constant_keys.constants_of(kernel)
        compat.uninstall()
        again = [one.cache_key for one in (kernel, called, without)]
        return [a != b for a, b in zip(bare, shimmed)], again == bare, found

    constants = [("called", "SIZE", "64"), ("kernel", "SIZE", "64")]
    assert in_fork(run) == ([True, True, False], True, constants)


@pytest.mark.triton("<3.5")
def test_two_values_of_one_constant_are_two_kernels(in_fork):
    def run():
        def keys():
            return len({case.compiled_with(factor).cache_key for factor in (3, 5)})

        virtual_gpu.activate(targets.SM_80)
        bare = keys()
        compat.install(only=["constant_keys"], guard="off")
        return bare, keys()

    assert in_fork(run) == (1 if in_window("<3.5", triton.__version__) else 2, 2)
