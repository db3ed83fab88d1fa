"""liger-kernel: norms over the last dimension."""

from _library import kernel, tensor

ROWS, WIDTH = 8, 192


def rms_norm():
    from liger_kernel.ops.rms_norm import LigerRMSNormFunction as Function

    return Function.apply(tensor(ROWS, WIDTH), tensor(WIDTH), 1e-6)


def layer_norm():
    from liger_kernel.ops.layer_norm import LigerLayerNormFunction as Function

    return Function.apply(tensor(ROWS, WIDTH), tensor(WIDTH), tensor(WIDTH), 1e-6)


def group_norm():
    from liger_kernel.ops.group_norm import LigerGroupNormFunction as Function

    return Function.apply(tensor(2, 8, WIDTH), tensor(8), tensor(8), 8, 4, 1e-6)


def fused_add_rms_norm():
    from liger_kernel.ops.fused_add_rms_norm import LigerFusedAddRMSNormFunction as Function

    return Function.apply(
        tensor(ROWS, WIDTH), tensor(ROWS, WIDTH), tensor(WIDTH), 1e-6, 0.0, "llama", False
    )


KERNEL = kernel(
    "liger_norms",
    "liger-kernel",
    (rms_norm, layer_norm, group_norm, fused_add_rms_norm),
    {"group_norm": ">=0.4", "fused_add_rms_norm": ">=0.6"},
)
