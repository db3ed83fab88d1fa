"""flash-linear-attention: losses and norms."""

from _library import kernel, labels, tensor

ROWS, CLASSES, WIDTH = 8, 1000, 64


def cross_entropy():
    import fla.modules.fused_cross_entropy as module

    # The function, not the module: that of 0.6 refuses tensors whose device is not called "cuda".
    op = getattr(module, "ops", module).cross_entropy_loss
    return op(tensor(ROWS, CLASSES), labels(ROWS, CLASSES))


def fused_linear_cross_entropy():
    from fla.modules import FusedLinearCrossEntropyLoss

    loss = FusedLinearCrossEntropyLoss()
    return loss(tensor(ROWS, WIDTH), labels(ROWS, CLASSES), tensor(CLASSES, WIDTH))


def layer_norm():
    from fla.modules import LayerNorm

    return LayerNorm(WIDTH, bias=True).bfloat16()(tensor(2, ROWS, WIDTH))


def rms_norm():
    from fla.modules import RMSNorm

    return RMSNorm(WIDTH).bfloat16()(tensor(2, ROWS, WIDTH))


def rms_norm_gated():
    from fla.modules import FusedRMSNormSwishGate

    gate = tensor(2, ROWS, WIDTH)
    return FusedRMSNormSwishGate(WIDTH).bfloat16()(tensor(2, ROWS, WIDTH), gate)


KERNEL = kernel(
    "fla_modules",
    "flash-linear-attention",
    (cross_entropy, fused_linear_cross_entropy, layer_norm, rms_norm, rms_norm_gated),
)
