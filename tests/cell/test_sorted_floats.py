"""`tl.sort` of floats with zeros of both signs, infinities and NaNs, by their bits; integers as they were."""

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

pytestmark = pytest.mark.triton("<3.4")


@triton.jit
def _sorted(x_ptr, y_ptr, ROWS: tl.constexpr, SIZE: tl.constexpr, DESCENDING: tl.constexpr):
    at = tl.arange(0, ROWS)[:, None] * SIZE + tl.arange(0, SIZE)[None, :]
    tl.store(y_ptr + at, tl.sort(tl.load(x_ptr + at), descending=DESCENDING))


def _run(x, descending):
    virtual_gpu.activate(targets.SM_80)
    compat.install()
    launching.run_with(emulate.Machine(60))
    y = torch.zeros_like(x)
    _sorted[(1,)](x, y, ROWS=x.shape[0], SIZE=x.shape[1], DESCENDING=descending)
    return y, "sorted_floats" in acted()


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
def test_every_float_finds_its_place(in_fork, dtype, descending):
    special = [0.0, -0.0, float("inf"), float("-inf"), 1.5, -2.0, 65504.0, 6e-8]
    x = torch.tensor([special, special[::-1]], dtype=dtype).repeat(1, 2)

    found, acts = in_fork(lambda: _run(x, descending))

    assert acts and torch.equal(found, x.sort(descending=descending).values)


def test_nan_is_the_greatest(in_fork):
    x = torch.tensor([[float("nan"), 1.0, float("inf"), -1.0]] * 2)
    found, _ = in_fork(lambda: _run(x, False))
    assert torch.equal(found[:, :3], torch.tensor([[-1.0, 1.0, float("inf")]] * 2))
    assert found[:, 3].isnan().all()


def test_integers_are_sorted_by_triton(in_fork):
    x = torch.randint(-9, 9, (2, 16), dtype=torch.int32)
    found, acts = in_fork(lambda: _run(x, True))
    assert not acts and torch.equal(found, x.sort(descending=True).values)
