"""Methods that tensors have since Triton 3.0 (``x.sum(1)``), as functions to set on 2.3's class of tensors."""

import triton.language as tl

from . import old_arguments, old_language
from .tracing import method_of

# Those of 3.0 that 2.3 can do.
METHODS = (
    "abs argmax argmin associative_scan atomic_add atomic_and atomic_cas atomic_max atomic_min atomic_or atomic_xchg "
    "atomic_xor broadcast_to cast cdiv ceil cos cumprod cumsum erf exp exp2 expand_dims flip floor histogram log log2 "
    "max min permute ravel reduce reshape rsqrt sigmoid sin softmax sort split sqrt sqrt_rn store sum trans view "
    "xor_sum"
).split()


def methods() -> dict:
    """Name to function, for every name of `METHODS` that is a function here, and no attribute of a tensor yet."""
    functions = {**vars(tl), **old_language.NAMES, **old_arguments.NAMES}
    wanted = (name for name in METHODS if name in functions and not hasattr(tl.tensor, name))
    return {name: method_of(functions[name]) for name in wanted}
