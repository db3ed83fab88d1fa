"""Types that old releases refuse: a condition made bfloat16, by a cast and by arithmetic; what tl.histogram makes."""

import pytest
import targets
import torch
import triton
import triton.language as tl

from crosswarp import compat
from crosswarp.compat.acts import acted
from crosswarp.matrix.cell import emulate
from crosswarp.matrix.cell.standins import virtual_gpu
from crosswarp.matrix.cell.standins.virtual_gpu import launching

BLOCK, BINS = 64, 16


@triton.jit
def _masked(x_ptr, y_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    y = x * (x > 0) + (tl.sum(x.to(tl.float32), 0) > 0).to(tl.bfloat16)
    tl.store(y_ptr + at, y)


@triton.jit
def _chosen(x_ptr, y_ptr, BLOCK: tl.constexpr, BINS: tl.constexpr):
    counts = tl.histogram(tl.load(x_ptr + tl.arange(0, BLOCK)), BINS)
    if tl.sum(counts, 0) > 0:
        latest = counts
    else:
        latest = tl.load(y_ptr + tl.arange(0, BINS))
    tl.store(y_ptr + tl.arange(0, BINS), latest)


def _run(kernel, x, y, *sizes):
    virtual_gpu.activate(targets.SM_80)
    compat.install()
    launching.run_with(emulate.Machine(60))
    kernel[(1,)](x, y, *sizes)
    return y, set(acted())


@pytest.mark.triton("<3.2")
def test_tiles_and_scalars_become_one_and_zero(in_fork):
    x = (torch.arange(BLOCK) - 12.0).bfloat16()

    found, acts = in_fork(lambda: _run(_masked, x, torch.zeros_like(x), BLOCK))

    assert "condition_to_bf16" in acts
    assert torch.equal(found, x * (x > 0) + 1)


@pytest.mark.triton(">=3.0,<3.2")
def test_either_side_of_a_branch_may_be_a_histogram(in_fork):
    x = torch.arange(BLOCK, dtype=torch.int32) % 7

    found, acts = in_fork(
        lambda: _run(_chosen, x, torch.zeros(BINS, dtype=torch.int32), BLOCK, BINS)
    )

    assert "histogram_shape" in acts
    assert torch.equal(found, x.bincount(minlength=BINS).int())
