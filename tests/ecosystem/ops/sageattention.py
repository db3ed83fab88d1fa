"""Quantised attention, [batch, heads, length, dim]."""

import pytest
import torch
from sageattention import sageattn


@pytest.mark.parametrize("causal", [False, True], ids=["full", "causal"])
@pytest.mark.parametrize("dim", [64, 128])
def test_attention(dim, causal):
    q, k, v = (torch.randn(1, 2, 256, dim, device="cuda", dtype=torch.float16) for _ in range(3))
    sageattn(q, k, v, is_causal=causal)
