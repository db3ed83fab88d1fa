import numpy
import pytest
import torch
import torch.nn.functional as F
from small_ops import Scale, scale, softmax, two_stage
from small_ops.ops import tuned
from torch.testing import assert_close


def check(y, reference):
    if not torch.equal(y, reference):
        raise AssertionError("the house's own helper says no")


def test_scale(device):
    x = torch.randn(100, device=device)
    assert_close(scale(x, 3.0), x * 3.0)


def test_every_way_to_say_no():
    x = torch.randn(100, device="cuda")
    y = scale(x, 3.0)
    assert torch.equal(y, x * 3.0)
    assert torch.allclose(y, x * 3.0)
    assert (y - x * 3.0).abs().max() < 1e-5, "far off"
    numpy.testing.assert_allclose(y.cpu().numpy(), (x * 3.0).cpu().numpy())
    check(y, x * 3.0)
    scale(y, 2.0)


def test_no_launch():
    assert torch.ones(3, device="cuda").sum().item() == 3


def test_wrong_before_any_launch():
    assert torch.ones(3, device="cuda").sum().item() == 4


def test_wrong_shape():
    y = scale(torch.randn(100, device="cuda"), 3.0)
    assert y.shape == (101,)


def test_wrong_type():
    y = scale(torch.randn(100, device="cuda"), 3.0)
    assert_close(y, y.half())


def test_skips_itself():
    pytest.skip("not on this GPU")


@pytest.mark.xfail(reason="known to be far off", strict=True)
def test_expected_to_fail():
    x = torch.randn(100, device="cuda")
    assert_close(scale(x, 3.0), x * 4.0)


def test_backward():
    x = torch.randn(64, 32, device="cuda", requires_grad=True)
    y = Scale.apply(x, 3.0)
    dy = torch.randn_like(y)
    y.backward(dy)
    assert x.grad.shape == x.shape
    assert_close(x.grad, dy * 3.0)
    (gradient,) = torch.autograd.grad(Scale.apply(x, 2.0).sum(), x)
    assert gradient.device == x.device


def test_reference_for_a_gpu():
    """Two of these products take minutes on a CPU."""
    a = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
    b = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16, requires_grad=True)
    product = F.gelu(a @ b)
    product.sum().backward()
    assert b.grad.shape == (8192, 8192)
    assert_close(scale(product[0].detach(), 1.0), product[0])
    index = torch.arange(200_000, device="cuda")
    assert index.sum().item() == 19999900000


def test_reference_of_higher_order():
    flex = pytest.importorskip("torch.nn.attention.flex_attention")
    q = torch.randn(1, 2, 128, 16, device="cuda")
    y = flex.flex_attention(q, q, q, score_mod=lambda score, b, h, i, j: score * 2)
    assert_close(scale(y, 1.0), y)
    assert y.shape == q.shape


def test_values_steer():
    two_stage(torch.ones(64, device="cuda"))


def test_autotuned():
    assert_close(tuned(torch.ones(1000, device="cuda")), torch.ones(1000, device="cuda"))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("columns", [7, 64, 1000])
def test_softmax(columns, dtype):
    x = torch.randn(4, columns, device="cuda", dtype=dtype)
    assert_close(softmax(x), torch.softmax(x.float(), -1).to(dtype))
