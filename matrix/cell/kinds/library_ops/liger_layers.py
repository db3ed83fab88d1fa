"""liger-kernel: the elementwise layers between the norms."""

from _library import kernel, tensor

BATCH, HEADS, LENGTH, WIDTH = 1, 4, 16, 64


def rope():
    from liger_kernel.ops.rope import LigerRopeFunction as Function

    # As a model makes them: heads were the second to last dimension.
    query = tensor(BATCH, LENGTH, HEADS, WIDTH).transpose(1, 2)
    key = tensor(BATCH, LENGTH, HEADS, WIDTH).transpose(1, 2)
    cos, sin = (tensor(1, LENGTH, WIDTH, grad=False) for _ in range(2))
    return Function.apply(query, key, cos, sin)


def swiglu():
    from liger_kernel.ops.swiglu import LigerSiLUMulFunction as Function

    return Function.apply(tensor(LENGTH, WIDTH) * 1, tensor(LENGTH, WIDTH) * 1)


def geglu():
    from liger_kernel.ops.geglu import LigerGELUMulFunction as Function

    return Function.apply(tensor(LENGTH, WIDTH) * 1, tensor(LENGTH, WIDTH) * 1)


KERNEL = kernel("liger_layers", "liger-kernel", (rope, swiglu, geglu))
