"""Functions of `triton.language` with the arguments that they have since 3.0, on Triton 2.3.

Each hands on to Triton's own function; what that one cannot do is built around it. Imported only on such a Triton.
"""

import triton
import triton.language as tl
from triton.language import core, semantic, standard

from .old_language import PropagateNan, flip
from .tracing import builtin, shape_of, value

# fp32 operands: TF32, or the full precision that everything else asks for at most.
ONE_PASS_PRECISIONS = ("tf32",)
FULL_PRECISIONS = ("ieee", "tf32x3", "bf16x3", "bf16x6")


@builtin
def dot(
    input,
    other,
    acc=None,
    input_precision=None,
    allow_tf32=None,
    max_num_imprecise_acc=None,
    out_dtype=core.float32,
    _builder=None,
):
    precision, allow_tf32 = value(input_precision), value(allow_tf32)
    # By position, the fourth argument is allow_tf32 in code written for 2.3, input_precision in newer code.
    if isinstance(precision, (bool, int)):
        if allow_tf32 is not None:
            # 2.3's order: the two that follow are one further on.
            max_num_imprecise_acc = allow_tf32
        precision, allow_tf32 = None, bool(precision)
    if precision is not None:
        if allow_tf32 is not None:
            msg = "Only one of input_precision and allow_tf32 can be specified"
            raise ValueError(msg)
        if precision not in ONE_PASS_PRECISIONS + FULL_PRECISIONS:
            msg = f"input_precision {precision!r} is not known: use tf32, tf32x3 or ieee"
            raise ValueError(msg)
        # More exact than three passes of TF32, and slower: 2.3 has nothing between.
        allow_tf32 = precision in ONE_PASS_PRECISIONS
    return core.dot(
        input,
        other,
        acc,
        True if allow_tf32 is None else allow_tf32,
        max_num_imprecise_acc,
        out_dtype,
        _builder=_builder,
    )


def _with_reduced_axes(result, axis, rank, _builder):
    """`result` of a reduction along `axis` of `rank` axes, with the reduced axes restored, one long."""
    if axis is not None:
        return core.expand_dims(result, axis, _builder=_builder)
    for _ in range(rank):
        result = core.expand_dims(result, 0, _builder=_builder)
    return result


def _axis(axis, tensor):
    axis = value(axis)
    return axis if axis is None else core._wrap_axis(axis, len(tensor.shape))


@builtin
def reduce(input, axis, combine_fn, keep_dims=False, _builder=None, _generator=None):
    tensors = (input,) if isinstance(input, tl.tensor) else tuple(value(input))
    axis = _axis(axis, tensors[0])
    results = core.reduce(tensors, axis, combine_fn, _builder=_builder, _generator=_generator)
    if value(keep_dims):
        rank = len(tensors[0].shape)
        results = tuple(_with_reduced_axes(result, axis, rank, _builder) for result in results)
    return results[0] if isinstance(input, tl.tensor) else results


def _reduction(native):
    """`native` (sum, max …), a reduction of `triton.language.standard`, with keep_dims and negative axes."""

    def call(input, axis, keep_dims, given, _builder, _generator):
        axis = _axis(axis, input)
        given = {name: core.constexpr(value(item)) for name, item in given.items()}
        if isinstance(native, triton.runtime.JITFunction):
            result = _generator.call_JitFunction(native, [input, axis], given)
        else:
            result = native(input, axis, _builder=_builder, _generator=_generator, **given)
        if not value(keep_dims):
            return result
        rank = len(input.shape)
        if isinstance(result, tuple):
            return tuple(_with_reduced_axes(item, axis, rank, _builder) for item in result)
        return _with_reduced_axes(result, axis, rank, _builder)

    return call


@builtin
def sum(input, axis=None, keep_dims=False, dtype=None, _builder=None, _generator=None):
    if value(dtype) is not None:
        input = semantic.cast(input, value(dtype), _builder)
    result = _reduction(standard.sum)(input, axis, keep_dims, {}, _builder, _generator)
    return result if value(dtype) is None else semantic.cast(result, value(dtype), _builder)


@builtin
def xor_sum(input, axis=None, keep_dims=False, _builder=None, _generator=None):
    return _reduction(standard.xor_sum)(input, axis, keep_dims, {}, _builder, _generator)


def _extreme(native):
    @builtin
    def function(
        input,
        axis=None,
        return_indices=False,
        return_indices_tie_break_left=True,
        keep_dims=False,
        _builder=None,
        _generator=None,
    ):
        indices = value(return_indices)
        if not indices and input.dtype.is_int() and input.dtype.primitive_bitwidth < 32:
            # Triton 2.3 asserts with a method that it does not have.
            input = semantic.cast(input, core.int32, _builder)
        given = {
            "return_indices": indices,
            "return_indices_tie_break_left": return_indices_tie_break_left,
        }
        return _reduction(native)(input, axis, keep_dims, given, _builder, _generator)

    return function


def _argument_of_extreme(native):
    @builtin
    def function(input, axis, tie_break_left=True, keep_dims=False, _builder=None, _generator=None):
        given = {"tie_break_left": tie_break_left}
        return _reduction(native)(input, axis, keep_dims, given, _builder, _generator)

    return function


@builtin
def associative_scan(input, axis, combine_fn, reverse=False, _builder=None, _generator=None):
    if not isinstance(input, tl.tensor):
        # One tensor only; for more, Triton raises its own error.
        return core.associative_scan(
            input, axis, combine_fn, _builder=_builder, _generator=_generator
        )
    axis = _axis(axis, input)
    if value(reverse):
        input = flip(input, axis, _builder=_builder, _generator=_generator)
    result = core.associative_scan(
        input, axis, combine_fn, _builder=_builder, _generator=_generator
    )
    if value(reverse):
        result = flip(result, axis, _builder=_builder, _generator=_generator)
    return result


def _scan(combine):
    @builtin
    def function(input, axis=0, reverse=False, dtype=None, _builder=None, _generator=None):
        input = core._promote_reduction_input(input, _builder=_builder)
        if value(dtype) is not None:
            input = semantic.cast(input, value(dtype), _builder)
        return associative_scan(
            input, axis, combine, reverse, _builder=_builder, _generator=_generator
        )

    return function


@builtin
def reshape(input, *shape, can_reorder=False, _builder=None):
    function = core.view if value(can_reorder) else core.reshape
    return function(input, shape_of(shape), _builder=_builder)


@builtin
def view(input, *shape, _builder=None):
    return core.view(input, shape_of(shape), _builder=_builder)


@builtin
def broadcast_to(input, *shape, _builder=None):
    return core.broadcast_to(input, shape_of(shape), _builder=_builder)


@builtin
def trans(input, *dims, _builder=None):
    order = shape_of(dims)
    if order and order != [1, 0]:
        from .old_language import permute

        return permute(input, order, _builder=_builder)
    return core.trans(input, _builder=_builder)


NAMES = {
    "dot": dot,
    "reduce": reduce,
    "sum": sum,
    "xor_sum": xor_sum,
    "max": _extreme(standard.max),
    "min": _extreme(standard.min),
    "argmax": _argument_of_extreme(standard.argmax),
    "argmin": _argument_of_extreme(standard.argmin),
    "associative_scan": associative_scan,
    "cumsum": _scan(standard._sum_combine),
    "cumprod": _scan(standard._prod_combine),
    "reshape": reshape,
    "view": view,
    "broadcast_to": broadcast_to,
    "trans": trans,
}


# Functions to combine with, too (tl.reduce(x, 0, tl.maximum)), so they stay functions of @triton.jit.
@triton.jit
def maximum(x, y, propagate_nan: tl.constexpr = PropagateNan.NONE):
    larger = standard.maximum(x, y)
    if propagate_nan == PropagateNan.ALL:
        larger = core.where(x != x, x, core.where(y != y, y, larger))
    return larger


@triton.jit
def minimum(x, y, propagate_nan: tl.constexpr = PropagateNan.NONE):
    smaller = standard.minimum(x, y)
    if propagate_nan == PropagateNan.ALL:
        smaller = core.where(x != x, x, core.where(y != y, y, smaller))
    return smaller


# To Triton's hash of dependencies they are Triton's: a kernel that calls them has the key that it has without compat.
maximum.__module__ = minimum.__module__ = "triton.language.standard"
NAMES["maximum"] = maximum
NAMES["minimum"] = minimum
