"""Operators of FlagGems, called by themselves, not put in torch's place."""

import flag_gems
import pytest
import torch


def x(*shape, dtype=torch.float16):
    return torch.randn(shape, device="cuda", dtype=dtype)


CALLS = {
    "add": lambda ops: ops.add(x(64, 100), x(64, 100)),
    "softmax": lambda ops: ops.softmax(x(64, 100), -1),
    "mm": lambda ops: ops.mm(x(64, 128), x(128, 64)),
    "bmm": lambda ops: ops.bmm(x(2, 64, 128), x(2, 128, 64)),
    "cumsum": lambda ops: ops.cumsum(x(16, 1000, dtype=torch.float32), 1),
    "sum": lambda ops: ops.sum(x(1000)),
    "argmax": lambda ops: ops.argmax(x(64, 100), 1),
    "gather": lambda ops: ops.gather(
        x(64, 64), 1, torch.zeros(64, 8, device="cuda", dtype=torch.int64)
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_operator(name):
    CALLS[name](flag_gems.ops)
