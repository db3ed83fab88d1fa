"""unsloth: its replacements for a model's layers.

The roots of the package and of its kernels import the models, which need a dozen distributions more.
"""

from types import SimpleNamespace

from _library import kernel, labels, tensor, without_root

ROWS, WIDTH, CLASSES = 8, 192, 1000


def _kernels():
    for package in ("unsloth_zoo", "unsloth", "unsloth.kernels"):
        without_root(package)
    import unsloth_zoo
    from unsloth_zoo import device_type

    # The constants that its root passes to its modules.
    for name in filter(str.isupper, vars(device_type)):
        setattr(unsloth_zoo, name, getattr(device_type, name))


def rms_layernorm():
    _kernels()
    from unsloth.kernels.rms_layernorm import fast_rms_layernorm as op

    return op(SimpleNamespace(weight=tensor(WIDTH), eps=1e-6), tensor(2, ROWS, WIDTH))


def layernorm():
    _kernels()
    from unsloth.kernels.layernorm import Fast_Layernorm as Function

    return Function.apply(tensor(2, ROWS, WIDTH), tensor(WIDTH), tensor(WIDTH), 1e-6)


def rope():
    _kernels()
    from unsloth.kernels.rope_embedding import fast_rope_embedding as op

    query, key = tensor(1, 4, ROWS, 64), tensor(1, 2, ROWS, 64)
    cos, sin = (tensor(ROWS, 64, grad=False) for _ in range(2))
    return op(query * 1, key * 1, cos, sin)


def swiglu():
    _kernels()
    from unsloth.kernels.swiglu import swiglu_DWf_DW_dfg_kernel as backward
    from unsloth.kernels.swiglu import swiglu_fg_kernel as forward

    gate, up = (tensor(1, ROWS, WIDTH, grad=False) for _ in range(2))
    forward(gate, up)
    return backward(*(tensor(ROWS, WIDTH, grad=False) for _ in range(3)))


def geglu():
    _kernels()
    from unsloth.kernels.geglu import geglu_exact_backward_kernel as backward
    from unsloth.kernels.geglu import geglu_exact_forward_kernel as forward

    gate, up = (tensor(1, ROWS, WIDTH, grad=False) for _ in range(2))
    forward(gate, up)
    return backward(*(tensor(ROWS, WIDTH, grad=False) for _ in range(3)))


def cross_entropy():
    _kernels()
    from unsloth.kernels.cross_entropy_loss import fast_cross_entropy_loss as op

    return op(tensor(1, ROWS, CLASSES) * 1, labels(ROWS, CLASSES)[None])


KERNEL = kernel(
    "unsloth_layers", "unsloth", (rms_layernorm, layernorm, rope, swiglu, geglu, cross_entropy)
)
