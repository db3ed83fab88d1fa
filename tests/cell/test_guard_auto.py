"""A child for what a known issue may kill the compiler with, and for nothing else; none where the guard is off."""

import os
import warnings

import pytest
import small_kernels
import targets
import torch
from triton.compiler import compiler

from crosswarp import compat
from crosswarp.compat import system
from crosswarp.matrix.cell.standins import virtual_gpu


def elementwise(**options):
    small_kernels.scaled[(1,)](torch.ones(100), torch.zeros(100), 100, BLOCK=64, **options)


def product(**options):
    tiles = [torch.ones(16, 16, dtype=torch.float16) for _ in range(2)]
    small_kernels.product[(1,)](*tiles, torch.zeros(16, 16), **options)


def aliased(**options):
    tiles = [torch.ones(16, 16, dtype=torch.float16) for _ in range(2)]
    small_kernels.product_by_another_name[(1,)](*tiles, torch.zeros(16, 16), **options)


def forks(guard, launch, **options):
    """How many processes ``launch(**options)`` starts, from an empty cache."""
    count, real = [], system.fork

    def counted():
        count.append(1)
        return real()

    system.fork = counted
    compat.install(guard=guard)
    virtual_gpu.activate(targets.SM_90, guarded=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        launch(**options)
    return len(count)


@pytest.mark.parametrize(("launch", "num_ctas"), [(elementwise, 1), (elementwise, 2), (product, 1)])
def test_off_never_forks(in_fork, launch, num_ctas):
    assert in_fork(lambda: forks("off", launch, num_ctas=num_ctas)) == 0


def test_always_forks_for_every_kernel(in_fork):
    assert in_fork(lambda: forks("always", elementwise)) == 1


def test_a_kernel_that_no_known_issue_can_kill_starts_no_process(in_fork):
    assert in_fork(lambda: forks("auto", elementwise)) == 0


@pytest.mark.triton("<3.3")
@pytest.mark.parametrize("launch", [product, aliased])
def test_a_product_is_compiled_in_a_child_where_products_kill_the_compiler(in_fork, launch):
    assert in_fork(lambda: forks("auto", launch)) >= 1


@pytest.mark.triton(">=3.3")
@pytest.mark.parametrize("num_ctas", [1, 2])
def test_nothing_is_where_the_compiler_raises(in_fork, num_ctas):
    assert in_fork(lambda: forks("auto", product, num_ctas=num_ctas)) == 0


def refuse_above(num_warps):
    """From here on this Triton's compiler fails an assertion for more warps, recovers from it and raises."""
    make_ir = compiler.ASTSource.make_ir

    def make(self, *args, **kwargs):
        if next(arg for arg in args if hasattr(arg, "num_warps")).num_warps > num_warps:
            os.write(2, b"Layout.cpp:7: Assertion `rank == 2' failed.\n")
            raise RuntimeError("PassManager::run failed")
        return make_ir(self, *args, **kwargs)

    compiler.ASTSource.make_ir = make


@pytest.mark.triton("<3.3")
@pytest.mark.parametrize("most", [0, 2])
def test_a_crash_that_became_an_exception_is_fixed_afterwards(in_fork, most):
    def run():
        refuse_above(most)
        try:
            count = forks("auto", elementwise, num_warps=4)
        except Exception as error:
            return type(error).__name__, compat.acted()
        return virtual_gpu.launches[-1].num_warps, compat.acted(), count

    # Each try of fewer warps is a kernel of its own, which no known issue can kill.
    fixed = (2, ["compiler_crash"], 1)
    assert in_fork(run) == (fixed if most else ("RuntimeError", []))
