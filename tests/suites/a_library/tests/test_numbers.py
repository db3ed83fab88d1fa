"""Tests whose numbers are right only if what was compiled is right."""

import time

import pytest
import torch
import triton
from small_ops import Scale, kernels, scale, softmax
from small_ops.ops import tuned
from torch.testing import assert_close


def test_scale():
    x = torch.randn(100, device="cuda")
    assert torch.equal(scale(x, 3.0), x * 3.0)


def test_backward():
    x = torch.randn(8, 32, device="cuda", requires_grad=True)
    dy = torch.randn(8, 32, device="cuda")
    Scale.apply(x, 3.0).backward(dy)
    assert_close(x.grad, dy * 3.0)


def test_softmax():
    x = torch.randn(4, 100, device="cuda", dtype=torch.bfloat16)
    assert_close(softmax(x), torch.softmax(x.float(), -1).to(torch.bfloat16))


def test_wrong():
    x = torch.randn(100, device="cuda")
    assert_close(scale(x, 3.0), x * 3.5)


@pytest.mark.xfail(reason="known to be far off", strict=True)
def test_expected_to_fail():
    x = torch.randn(100, device="cuda")
    assert_close(scale(x, 3.0), x * 4.0)


def test_running_sum():
    x = torch.randn(8, 512, device="cuda")
    before = torch.empty(8, 8, device="cuda")
    kernels.running_sum_kernel[(1,)](x, before, 512, ROWS=8, BLOCK=64)
    parts = x.view(8, 8, 64).sum(2).t()
    assert_close(before, parts.cumsum(0) - parts, rtol=1e-4, atol=1e-4)


def test_tuned():
    x = torch.randn(1000, device="cuda")
    assert torch.equal(tuned(x), x)


def test_tuned_in_place():
    """A benchmark adds as often as it likes, here as well as on a GPU."""
    x = torch.zeros(1000, device="cuda")
    kernels.add_in_place_kernel[lambda meta: (triton.cdiv(1000, meta["BLOCK"]),)](x, 1000)
    assert x.min() >= 1 and x.min() == x.max()


def test_too_far():
    x, y = torch.ones(17, device="cuda"), torch.zeros(16, device="cuda")
    kernels.too_far_kernel[(1,)](x, y, 16, BLOCK=64)


def test_too_far_and_nobody_looks():
    x, y = torch.ones(17, device="cuda"), torch.zeros(16, device="cuda")
    try:
        kernels.too_far_kernel[(1,)](x, y, 16, BLOCK=64)
    except RuntimeError:
        pass


def test_unknown_instruction():
    x, y = torch.ones(64, device="cuda", dtype=torch.int32), torch.empty(64, device="cuda")
    kernels.vector_max_kernel[(1,)](x, y.to(torch.int32), BLOCK=64)


def test_unknown_instruction_expected_to_raise():
    x, y = torch.ones(64, device="cuda", dtype=torch.int32), torch.empty(64, device="cuda")
    with pytest.raises((RuntimeError, ValueError)):
        kernels.vector_max_kernel[(1,)](x, y.to(torch.int32), BLOCK=64)


def test_takes_hours():
    x = torch.ones(1 << 16, device="cuda")
    kernels.patient_kernel[(512,)](x, 1 << 24, BLOCK=128)


def test_reference_takes_hours():
    scale(torch.ones(8, device="cuda"), 2.0)
    time.sleep(600)


def test_no_launch():
    assert torch.ones(3, device="cuda").sum().item() == 3
