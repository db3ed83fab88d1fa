import os
import signal
import time

import pytest
import small_ops_cuda
import torch
from small_ops import kernels, scale, use_extension
from small_ops_cuda.inner import Base, decorated


class Derived(Base):
    value = 3


@decorated
def with_a_decorator():
    pass


def test_does_not_compile():
    kernels.wrong_kernel[(1,)](torch.zeros(64, device="cuda"), 64, BLOCK=64)


def test_a_crash():
    scale(torch.ones(3, device="cuda"), 2.0)
    os.kill(os.getpid(), signal.SIGABRT)


def test_after_the_crash():
    scale(torch.ones(3, device="cuda"), 2.0)


def test_never_ends():
    time.sleep(600)


def test_needs_the_extension():
    use_extension(torch.ones(3, device="cuda"))


def test_needs_it_by_name():
    assert Derived().value == 3
    with pytest.raises(ValueError):
        small_ops_cuda.inner.fused(1)


def test_needs_a_graph():
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        scale(torch.ones(3, device="cuda"), 2.0)


def test_limit():
    kernels.scale_kernel[(1, 70000)](
        torch.ones(3, device="cuda"), torch.ones(3, device="cuda"), 2.0, 3, BLOCK=64
    )


@pytest.fixture
def broken():
    raise RuntimeError("the fixture is broken")


def test_broken_fixture(broken):
    pass
