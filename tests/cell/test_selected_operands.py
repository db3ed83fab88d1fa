"""A choice by a transposed product is made bit by bit, NaN too; of other kernels nothing is written anew."""

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

pytestmark = pytest.mark.triton(">=3.3")


@triton.jit
def _choosing(a_ptr, b_ptr, x_ptr, w_ptr, y_ptr, kept_ptr, ROWS: tl.constexpr, SIZE: tl.constexpr):
    rows, columns = tl.arange(0, ROWS), tl.arange(0, SIZE)
    a = tl.load(a_ptr + columns[:, None] * SIZE + columns[None, :])
    b = tl.load(b_ptr + columns[:, None] * ROWS + rows[None, :])
    p = tl.trans(tl.dot(a, b))
    at = rows[:, None] * SIZE + columns[None, :]
    x = tl.where(p > 0, tl.load(x_ptr + at), -1.0)
    w = tl.load(w_ptr + at)
    tl.store(kept_ptr + at, x)
    tl.store(y_ptr + rows[:, None] * ROWS + rows[None, :], tl.dot(x.to(tl.float16), tl.trans(w)))


@triton.jit
def _plain(a_ptr, b_ptr, x_ptr, w_ptr, y_ptr, kept_ptr, ROWS: tl.constexpr, SIZE: tl.constexpr):
    rows, columns = tl.arange(0, ROWS), tl.arange(0, SIZE)
    at = rows[:, None] * SIZE + columns[None, :]
    x = tl.where(tl.load(x_ptr + at) > 0, 1.0, -1.0).to(tl.float16)
    y = tl.dot(x, tl.trans(tl.load(w_ptr + at))).to(tl.float16)
    y = tl.dot(y, tl.load(w_ptr + rows[:, None] * ROWS + rows[None, :]))
    tl.store(y_ptr + rows[:, None] * ROWS + rows[None, :], y)


def _given():
    generator = torch.Generator().manual_seed(3)
    a, b = (torch.randint(-2, 3, (64, size), generator=generator).half() for size in (64, 16))
    x, w = (
        torch.randint(-2, 3, (16, 64), generator=generator).to(kind)
        for kind in (torch.float32, torch.float16)
    )
    return a, b, x, w


@pytest.mark.parametrize("target", ["SM_80", "SM_90"])
def test_what_is_chosen_is_what_was_chosen(in_fork, target):
    def run():
        virtual_gpu.activate(getattr(targets, target))
        compat.install()
        launching.run_with(emulate.Machine(60))
        a, b, x, w = _given()
        x[3, 5] = float("nan")
        y, kept = torch.zeros(16, 16), torch.zeros(16, 64)
        _choosing[(1,)](a, b, x, w, y, kept, ROWS=16, SIZE=64)
        chosen = torch.where((a.float() @ b.float()).T > 0, x, -1.0)
        meant = chosen @ w.float().T
        same = torch.equal(kept.nan_to_num(7), chosen.nan_to_num(7))
        return same, torch.equal(y.nan_to_num(7), meant.nan_to_num(7)), acted()

    same, right, shims = in_fork(run)
    assert same and right and "selected_operands" in shims


def test_another_choice_is_left(in_fork):
    def run():
        virtual_gpu.activate(targets.SM_90)
        compat.install()
        a, b, x, w = _given()
        _plain[(1,)](a, b, x, w, torch.zeros(16, 16), x, ROWS=16, SIZE=64)
        return acted()

    assert "selected_operands" not in in_fork(run)
