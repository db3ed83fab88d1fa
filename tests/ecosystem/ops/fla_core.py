"""Public ops of fla-core, forward and backward, [batch, time, heads, dim] of bfloat16."""

import pytest
import torch
import torch.nn.functional as F
from fla.modules import RMSNorm
from fla.ops.delta_rule import chunk_delta_rule
from fla.ops.gated_delta_rule import chunk_gated_delta_rule
from fla.ops.gla import chunk_gla, fused_recurrent_gla
from fla.ops.retention import chunk_retention
from fla.ops.simple_gla import chunk_simple_gla

SHAPE = (1, 128, 2, 64)


def wide():
    return torch.randn(SHAPE, device="cuda", dtype=torch.bfloat16).requires_grad_()


def gate(*shape):
    return F.logsigmoid(torch.randn(shape, device="cuda")).to(torch.bfloat16).requires_grad_()


def beta():
    return torch.rand(SHAPE[:3], device="cuda", dtype=torch.bfloat16).requires_grad_()


@pytest.mark.parametrize(
    "op, more",
    [
        (chunk_retention, lambda: ()),
        (chunk_gla, lambda: (gate(*SHAPE),)),
        (fused_recurrent_gla, lambda: (gate(*SHAPE),)),
        (chunk_simple_gla, lambda: (gate(*SHAPE[:3]),)),
        (chunk_delta_rule, lambda: (beta(),)),
        (chunk_gated_delta_rule, lambda: (gate(*SHAPE[:3]), beta())),
    ],
    ids=lambda item: getattr(item, "__name__", "more") if callable(item) else None,
)
def test_op(op, more):
    op(wide(), wide(), wide(), *more())[0].sum().backward()


def test_rms_norm():
    norm = RMSNorm(256, device="cuda", dtype=torch.bfloat16)
    norm(torch.randn(64, 256, device="cuda", dtype=torch.bfloat16)).sum().backward()
