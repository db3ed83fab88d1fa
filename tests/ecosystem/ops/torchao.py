"""Block-wise float8 of torchao: 128 x 128 blocks."""

import torch
from torchao.kernel import blockwise_quantization as blocks


def x():
    return torch.randn(256, 256, device="cuda", dtype=torch.bfloat16)


def test_activations():
    blocks.fp8_blockwise_act_quant(x())


def test_weights_and_back():
    blocks.fp8_blockwise_weight_dequant(*blocks.fp8_blockwise_weight_quant(x()))


def test_matmul():
    blocks.blockwise_fp8_gemm(
        *blocks.fp8_blockwise_act_quant(x()), *blocks.fp8_blockwise_weight_quant(x())
    )
