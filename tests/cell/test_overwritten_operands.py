"""ptxas gets an atomic operation whose operand is not zeroed ahead of it; other kernels get what they got."""

import pytest
import targets
import torch
import triton
import triton.language as tl

from crosswarp import compat
from crosswarp.compat.acts import acted
from crosswarp.compat.shims.overwritten_operands import zero_behind
from crosswarp.matrix.cell.standins import virtual_gpu


@triton.jit
def _carried(x_ptr, y_ptr, turns, SIZE: tl.constexpr):
    at = tl.arange(0, SIZE)
    v = tl.load(x_ptr + at)
    for turn in range(turns):
        v = tl.atomic_add(y_ptr + turn * SIZE + at, v)
    tl.store(x_ptr + at, v)


@triton.jit
def _once(x_ptr, y_ptr, turns, SIZE: tl.constexpr):
    at = tl.arange(0, SIZE)
    tl.atomic_add(y_ptr + turns * SIZE + at, tl.load(x_ptr + at))


@pytest.mark.parametrize("kernel, heals", [(_carried, True), (_once, False)])
@pytest.mark.parametrize("target", ["SM_80", "SM_90"])
def test_nothing_is_zeroed_ahead_of_what_reads_it(in_fork, kernel, heals, target):
    def run():
        virtual_gpu.activate(getattr(targets, target))
        compat.install()
        compiled = kernel[(1,)](torch.zeros(128), torch.zeros(512), 3, SIZE=128)
        return zero_behind(compiled.asm["ptx"]), "overwritten_operands" in acted()

    assert in_fork(run) == (None, heals)
