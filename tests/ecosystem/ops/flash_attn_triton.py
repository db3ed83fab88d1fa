"""Attention, [batch, length, heads, dim]."""

import pytest
import torch
from flash_attn_triton import flash_attn_func


@pytest.mark.parametrize("causal", [False, True], ids=["full", "causal"])
def test_attention(causal):
    q, k, v = (torch.randn(1, 256, 2, 64, device="cuda", dtype=torch.float16) for _ in range(3))
    flash_attn_func(q, k, v, causal=causal)
