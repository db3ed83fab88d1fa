"""Linear attention, [batch, heads, length, dim], with and without a decay for each head."""

import pytest
import torch
from lightning_attn.ops import lightning_attn_func


@pytest.mark.parametrize("decays", [False, True], ids=["plain", "decay"])
def test_attention(decays):
    q, k, v = (
        torch.randn(1, 2, 256, 64, device="cuda", dtype=torch.bfloat16).requires_grad_()
        for _ in range(3)
    )
    decay = torch.rand(2, device="cuda") if decays else None
    lightning_attn_func(q, k, v, decay).sum().backward()
