"""liger-kernel: losses over the vocabulary."""

from _library import kernel, labels, tensor

ROWS, CLASSES, WIDTH = 8, 1000, 64


def cross_entropy():
    from liger_kernel.ops.cross_entropy import LigerCrossEntropyFunction as Function

    logits, target = tensor(ROWS, CLASSES) * 1, labels(ROWS, CLASSES)
    # 0.4.0 put the class weights third.
    weights = () if _before_0_4(Function) else (None,)
    return Function.apply(logits, target, *weights)


def cross_entropy_32k():
    """A vocabulary for which it asks for 32 warps."""
    from liger_kernel.ops.cross_entropy import LigerCrossEntropyFunction as Function

    logits, target = tensor(2, 32768) * 1, labels(2, 32768)
    weights = () if _before_0_4(Function) else (None,)
    return Function.apply(logits, target, *weights)


def _before_0_4(function):
    import inspect

    return "weight" not in inspect.signature(inspect.unwrap(function.forward)).parameters


def fused_linear_cross_entropy():
    from liger_kernel.ops.fused_linear_cross_entropy import (
        LigerFusedLinearCrossEntropyFunction as Function,
    )

    return Function.apply(tensor(ROWS, WIDTH), tensor(CLASSES, WIDTH), labels(ROWS, CLASSES))


def kl_div():
    from liger_kernel.ops.kl_div import LigerKLDivLossFunction as Function

    target = tensor(ROWS, CLASSES, dtype="float32", grad=False).softmax(-1)
    return Function.apply(tensor(ROWS, CLASSES, dtype="float32").log_softmax(-1), target)


def jsd():
    from liger_kernel.ops.jsd import LigerJSDFunction as Function

    target = tensor(ROWS, CLASSES, grad=False).log_softmax(-1)
    return Function.apply(tensor(ROWS, CLASSES).log_softmax(-1), target)


KERNEL = kernel(
    "liger_losses",
    "liger-kernel",
    (cross_entropy, cross_entropy_32k, fused_linear_cross_entropy, kl_div, jsd),
    {"jsd": ">=0.4"},
)
