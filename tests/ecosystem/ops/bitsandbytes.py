"""The Triton backend of bitsandbytes, called by itself: its CUDA library answers for CUDA tensors."""

import pytest
import torch
from bitsandbytes.backends.triton import ops


def x(*shape):
    return torch.randn(shape, device="cuda", dtype=torch.float16)


def code():
    return torch.linspace(-1, 1, 256, device="cuda")


def test_blockwise():
    quantised, absmax = ops.quantize_blockwise(x(64, 256), code(), 256)
    ops.dequantize_blockwise(quantised, absmax, code(), 256, torch.float16)


@pytest.mark.parametrize("kind", ["nf4", "fp4"])
def test_four_bits(kind):
    quantised, absmax = ops.quantize_4bit(x(64, 256), 64, kind, torch.uint8)
    ops.dequantize_4bit(quantised, absmax, 64, kind, (64, 256), torch.float16)
