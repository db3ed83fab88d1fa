"""`tl.gather` of Triton 3.3 built from the functions of earlier releases. Imported only on such a Triton.

Every index is compared with every position along the axis, and the element at the equal position is kept. That takes a
tensor as large as the result times the length of the axis, which is reduced again at once. It works on bits: a negative
zero and a NaN come out unchanged. An index outside the axis gives zero; on 3.3 that is undefined.
"""

from typing import Any

import triton
import triton.language as tl
from triton.language import core, semantic

from .tracing import backend_of, builtin, handed_on, value, values

_TENSOR_LIMIT = getattr(core, "TRITON_MAX_TENSOR_NUMEL", 1 << 20)


@triton.jit
def _either(left, right):
    return left | right


@builtin
def gather(src: Any, index: Any, axis: Any, _builder: Any = None, _generator: Any = None) -> Any:
    """Elements of `src` along `axis`, at the places that `index` says.

    Args:
        src: a tensor of any type.
        index: integers, of as many dimensions as `src` and of its sizes but along `axis`, where it may have any.
        axis: the dimension; negative ones are counted from the last.

    Returns:
        A tensor of the type of `src` and the shape of `index`.
    """
    hidden = handed_on(_builder)
    builder = hidden["_builder"]
    axis, shape, places = _checked(src, index, value(axis))
    if backend_of(hidden) == "interpreter":
        return _interpreted(src, index, axis)
    length = shape[axis]
    elements = length
    for size in places:
        elements *= size
    if elements > _TENSOR_LIMIT:
        msg = (
            f"tl.gather before Triton 3.3 compares {elements // length} indices with {length} places, a tensor of"
            f" {elements} elements, {_TENSOR_LIMIT} at most: gather smaller tiles, or load from a pointer"
        )
        raise ValueError(msg)
    bits, back = _as_bits(src, builder)
    # of the rank of the result and one more, along which it is reduced: that of `src`
    where = [1] * len(shape)
    where.insert(axis + 1, length)
    at = core.arange(0, length, _builder=builder)
    for dimension in range(len(where)):
        if dimension != axis + 1:
            at = semantic.expand_dims(at, dimension, builder)
    wanted = semantic.expand_dims(index, axis + 1, builder)
    selected = semantic.where(
        semantic.equal(wanted, at, builder),
        semantic.expand_dims(bits, axis, builder),
        semantic.full([1] * len(where), 0, bits.type.scalar, builder),
        builder,
    )
    gathered = core.reduce(selected, axis + 1, _either, _builder=builder, _generator=_generator)
    return back(gathered)


def _checked(src: Any, index: Any, axis: int) -> Any:
    """The axis from the first one, and both shapes as numbers; refuses what Triton 3.3 refuses, in its words."""
    if not index.type.scalar.is_int():
        raise TypeError("index must be an integer tensor")
    shape, places = values(src.shape), values(index.shape)
    if len(shape) != len(places):
        raise TypeError("source and index tensors must have the same rank")
    if not -len(shape) <= axis < len(shape):
        raise TypeError(f"gather axis {axis} must be < source rank ({len(shape)})")
    axis %= len(shape)
    if any(size != two for at, (size, two) in enumerate(zip(shape, places)) if at != axis):
        raise TypeError(f"index dim {axis} must match the corresponding source dim")
    return axis, shape, places


def _as_bits(src: Any, builder: Any) -> Any:
    """`src` as integers of at least 32 bits, and what makes of such integers its type again."""
    kind = src.type.scalar
    if kind.is_ptr() or kind.is_int():
        # A pointer is a number of 64 bits; smaller integers are widened.
        wide = tl.int64 if kind.is_ptr() or kind.int_bitwidth == 64 else tl.int32
        if kind.is_int() and kind.int_bitwidth >= 32:
            return src, lambda gathered: gathered
        return semantic.cast(src, wide, builder), lambda gathered: semantic.cast(
            gathered, kind, builder
        )
    same = core.dtype(f"int{kind.primitive_bitwidth}")
    integers = semantic.bitcast(src, same, builder)
    if kind.primitive_bitwidth >= 32:
        return integers, lambda gathered: semantic.bitcast(gathered, kind, builder)
    return (
        semantic.cast(integers, tl.int32, builder),
        lambda gathered: semantic.bitcast(semantic.cast(gathered, same, builder), kind, builder),
    )


def _interpreted(src: Any, index: Any, axis: int) -> Any:
    """In numpy, as Triton 3.3 does it."""
    import numpy

    data = numpy.take_along_axis(src.handle.data, index.handle.data, axis)
    handle = type(src.handle)(data, src.handle.dtype)
    return core.tensor(handle, core.block_type(src.type.scalar, list(data.shape)))
