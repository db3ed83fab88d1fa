"""`tl.flip` along any dimension, bit for bit, with its own type; conditions as Triton has it."""

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

pytestmark = pytest.mark.triton(">=3.0,<3.4")
SPECIAL = [0.0, -0.0, float("inf"), float("-inf"), float("nan"), 1.5, -2.0, 6e-8]


@triton.jit
def _flipped(x_ptr, y_ptr, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr, DIM: tl.constexpr):
    a, b, c = tl.arange(0, A), tl.arange(0, B), tl.arange(0, C)
    at = (a[:, None, None] * B + b[None, :, None]) * C + c[None, None, :]
    x = tl.load(x_ptr + at)
    y = tl.flip(x, DIM)
    tl.static_assert(y.dtype == x.dtype)
    tl.store(y_ptr + at, y)


@triton.jit
def _method_and_condition(x_ptr, y_ptr, SIZE: tl.constexpr):
    at = tl.arange(0, SIZE)
    x = tl.load(x_ptr + at)
    tl.store(y_ptr + at, x.flip())
    tl.store(y_ptr + SIZE + at, tl.flip(x > 0).to(tl.int32))


def _run(kernel, x, y, *sizes):
    virtual_gpu.activate(targets.SM_80)
    compat.install()
    launching.run_with(emulate.Machine(60))
    kernel[(1,)](x, y, *sizes)
    return y, "exact_flip" in acted()


def bits(tensor):
    return tensor.view(
        {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[tensor.element_size()]
    )


@pytest.mark.parametrize("dim", [0, 1, 2, -1, None])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32, torch.int8])
def test_any_dimension_bit_by_bit(in_fork, dtype, dim):
    x = torch.arange(-64, 64).reshape(4, 2, 16).to(dtype)
    if dtype.is_floating_point:
        x[..., :8] = torch.tensor(SPECIAL, dtype=dtype)

    found, acts = in_fork(lambda: _run(_flipped, x, torch.zeros_like(x), 4, 2, 16, dim))

    assert acts and torch.equal(bits(found), bits(x.flip(2 if dim is None else dim)))


def test_wide_floats(in_fork):
    x = torch.tensor([SPECIAL, SPECIAL[::-1]], dtype=torch.float64).reshape(1, 2, 8)
    found, _ = in_fork(lambda: _run(_flipped, x, torch.zeros_like(x), 1, 2, 8, 2))
    assert torch.equal(bits(found), bits(x.flip(2)))


def test_as_a_method_and_of_a_condition(in_fork):
    x = torch.arange(16, dtype=torch.int32) % 5 - 2
    found, _ = in_fork(
        lambda: _run(_method_and_condition, x, torch.zeros(32, dtype=torch.int32), 16)
    )
    assert torch.equal(found, torch.cat([x.flip(0), (x > 0).int().flip(0)]))


def test_a_dimension_that_is_not_there_is_refused_by_triton(in_fork):
    def refused():
        x = torch.zeros(2, 2, 2)
        try:
            _run(_flipped, x, torch.zeros_like(x), 2, 2, 2, 3)
        except Exception as error:
            return str(error)

    assert in_fork(refused)
