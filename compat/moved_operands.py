"""Dot products whose right-hand operand is first moved to another layout, so that Triton 3.2 and 3.3 can compile them.

On Hopper with 8 and more warps these compilers cannot lay out an accumulator that is cast to 16 bits and becomes the
right-hand operand of another dot. A sum over a dimension of one changes no value, and its result gets a new layout.
"""

import copy
import threading
from typing import Any, Callable

from .record import Patches
from .seams.attribute import around
from .versions import in_window


class _State(threading.local):
    moving = False


_state = _State()


def supported() -> bool:
    """Whether this Triton needs it, and has the front end that this module knows."""
    import triton

    # Breakpoint: Triton 3.4 made the functions of `semantic` methods, and needs none of this.
    if not in_window(">=3.2,<3.4", triton.__version__):
        return False
    import triton.language.semantic as semantic

    return all(hasattr(semantic, name) for name in ("dot", "reduction", "reshape", "cast"))


def install(patches: Patches) -> None:
    """Have dot products check whether their operand is to be moved. Other compilations, including other threads', are
    not affected."""
    import triton.language.semantic as semantic

    def dot_moved(dot, lhs, rhs, *args):
        if _state.moving and len(rhs.shape) == 2 and rhs.dtype.primitive_bitwidth == 16:
            rhs = _through_a_sum(semantic, rhs, args[-1])
        return dot(lhs, rhs, *args)

    around(patches, semantic, "dot", dot_moved)


def compiling(compile_: Callable) -> Callable:
    """`compile_` with every 16-bit right-hand operand moved, under a separate key in Triton's cache."""

    def compile(src: Any, *args: Any, **kwargs: Any) -> Any:
        ours = copy.copy(src)
        ours.hash = lambda: f"{src.hash()}-moved-operands"
        _state.moving = True
        try:
            return compile_(ours, *args, **kwargs)
        finally:
            _state.moving = False

    return compile


def _through_a_sum(semantic: Any, value: Any, builder: Any) -> Any:
    """`value`, summed over a third dimension of one, in fp32: a sum of one number is that number."""
    import triton.language.core as core

    wide = semantic.cast(value, core.float32, builder)
    rows, columns = [getattr(size, "value", size) for size in value.shape]
    tall = semantic.reshape(wide, [rows, columns, 1], False, builder)

    def add(reduce_op):
        region = reduce_op.get_region(0)
        with core._insertion_guard(builder):
            types = [core.float32.to_ir(builder)] * 2
            block = builder.create_block_with_parent(region, types)
            builder.create_reduce_ret(builder.create_fadd(block.arg(0), block.arg(1)))

    (flat,) = semantic.reduction((tall,), 2, add, builder)
    return semantic.cast(flat, value.dtype, builder)
