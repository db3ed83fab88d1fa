"""conch-triton-kernels: the kernels that a server runs for each token."""

from _library import kernel, tensor

TOKENS, HEADS, KV_HEADS, WIDTH, BLOCK, BLOCKS = 4, 4, 2, 64, 16, 8


def silu_and_mul():
    from conch.ops.activation.silu_and_mul import silu_and_mul as op

    return op(tensor(TOKENS, 2 * WIDTH, grad=False))


def rms_norm():
    from conch.ops.normalization.rms_norm import fused_add_rms_norm as op

    x, residual = (tensor(TOKENS, WIDTH, grad=False) for _ in range(2))
    return op(x, residual, tensor(WIDTH, grad=False), 1e-6)


def rotary_embedding():
    import torch
    from conch.ops.embedding.rotary_embedding import rotary_embedding as op

    query = tensor(TOKENS, HEADS * WIDTH, grad=False)
    key = tensor(TOKENS, KV_HEADS * WIDTH, grad=False)
    return op(torch.arange(TOKENS), query, key, WIDTH, tensor(TOKENS, WIDTH, grad=False))


def paged_attention():
    import torch
    from conch.ops.attention.paged_attention import paged_attention as op

    keys, values = (tensor(BLOCKS, BLOCK, KV_HEADS, WIDTH, grad=False) for _ in range(2))
    table = torch.arange(BLOCKS).reshape(TOKENS, -1).int()
    return op(
        tensor(TOKENS, HEADS, WIDTH, grad=False), keys, values, table, torch.full((TOKENS,), 20).int()
    )  # fmt: skip


def varlen_attention():
    import torch
    from conch.ops.attention.varlen_attention import varlen_attention as op

    keys, values = (tensor(BLOCKS, BLOCK, KV_HEADS, WIDTH, grad=False) for _ in range(2))
    starts, lengths = torch.tensor([0, 10, 30]).int(), torch.tensor([10, 20]).int()
    return op(
        tensor(30, HEADS, WIDTH, grad=False), keys, values, starts, 20, lengths, 20,
        torch.arange(BLOCKS).reshape(2, -1).int(), causal=True,
    )  # fmt: skip


def scaled_gemm():
    import torch
    from conch.ops.quantization.gemm import scaled_gemm as op

    left, right = (torch.randint(-9, 9, shape).to(torch.int8) for shape in ((64, 64), (64, 128)))
    scale = tensor(1, dtype="float32", grad=False)
    return op(left, right, scale, scale, torch.bfloat16)


def int8_quant():
    from conch.ops.quantization.int8 import scaled_int8_quant as op

    return op(tensor(TOKENS, WIDTH, grad=False), tensor(1, dtype="float32", grad=False))


KERNEL = kernel(
    "conch_inference",
    "conch-triton-kernels",
    (
        silu_and_mul,
        rms_norm,
        rotary_embedding,
        paged_attention,
        varlen_attention,
        scaled_gemm,
        int8_quant,
    ),
)
