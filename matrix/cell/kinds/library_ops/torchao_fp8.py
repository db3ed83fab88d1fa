"""torchao: float8 in blocks, and scaled products of integers.

The roots of the package and of its kernels import all of its quantization, for newer releases of torch alone.
"""

from _library import kernel, tensor, without_root

ROWS, WIDTH, BLOCK = 128, 256, 128


def _kernels():
    for package in ("torchao", "torchao.kernel"):
        without_root(package)


def act_quant():
    _kernels()
    from torchao.kernel.blockwise_quantization import fp8_blockwise_act_quant as op

    return op(tensor(ROWS, WIDTH, grad=False))


def weight_quant():
    _kernels()
    from torchao.kernel.blockwise_quantization import fp8_blockwise_weight_quant as op

    return op(tensor(ROWS, WIDTH, grad=False))


def weight_dequant():
    _kernels()
    from torchao.kernel.blockwise_quantization import fp8_blockwise_weight_dequant as op

    weight, scales = _float8(ROWS, WIDTH), tensor(ROWS // BLOCK, WIDTH // BLOCK, grad=False)
    return op(weight, scales.float())


def blockwise_gemm():
    _kernels()
    from torchao.kernel.blockwise_quantization import blockwise_fp8_gemm as op

    scales = tensor(ROWS, WIDTH // BLOCK, dtype="float32", grad=False)
    other = tensor(ROWS // BLOCK, WIDTH // BLOCK, dtype="float32", grad=False)
    return op(_float8(ROWS, WIDTH), scales, _float8(ROWS, WIDTH), other)


def int_scaled_matmul():
    _kernels()
    import torch
    from torchao.kernel.intmm_triton import int8_mm_kernel_configs, int_scaled_matmul_kernel

    left, right = (torch.randint(-9, 9, shape).to(torch.int8) for shape in ((64, 64), (64, 128)))
    scales, out = tensor(64, 1, grad=False), tensor(64, 128, grad=False)
    # torchao's own tuner times 100 configurations and more.
    for config in int8_mm_kernel_configs[:2]:
        int_scaled_matmul_kernel(left, right, scales.expand(64, 128), out, config)


def _float8(*shape):
    import torch

    return tensor(*shape, grad=False).to(torch.float8_e4m3fn)


KERNEL = kernel(
    "torchao_fp8",
    "torchao",
    (act_quant, weight_quant, weight_dequant, blockwise_gemm, int_scaled_matmul),
)
