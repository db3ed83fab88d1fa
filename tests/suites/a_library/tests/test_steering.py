"""What is sized, refused or divided by a number that a kernel wrote, or that none did."""

import pytest
import torch
from small_ops import scale, steered
from torch.testing import assert_close


@pytest.fixture
def x():
    return torch.ones(64, device="cuda")


def test_size_of_the_result(x):
    assert steered.positive(x).shape == (64,)


def test_size_by_assert_close(x):
    assert_close(steered.listed(x), x)


def test_size_of_an_operator(x):
    assert_close(steered.kept(x), x)


def test_refused(x):
    steered.refuses(x)


def test_divided(x):
    assert steered.divides(x) == 0


def test_uses_what_is_too_short(x):
    steered.positive(x)[3].add_(1)


def test_green_all_the_same(x):
    assert steered.positive(x).dtype == torch.float32


def test_compiler_says_no(x):
    steered.compiles_wrongly(x)


def test_no_such_name(x):
    steered.names_wrongly(x)


def test_steered_by_its_own(x):
    steered.sizes_by_its_own(torch.tensor([3, 4], device="cuda"), x)


def test_only_the_test_reads(x):
    y = scale(x, 2.0)
    assert torch.equal(y, x * 2.0)
    assert_close(y, x * 2.0)
    assert y.sum().item() == 128
    assert y.shape == (65,)
