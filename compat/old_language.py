"""Functions of `triton.language` since 3.0 that Triton 2.3 lacks, built from its operations.

Each is traced into the operations that 2.3.1 has. Imported only on such a Triton.
"""

import builtins
import enum
import math as python_math

import triton.language as tl
from triton.language import core, semantic

from .tracing import builtin, shape_of, value, values


class PropagateNan(enum.IntEnum):
    """Whether a NaN of an operand is the result (ALL), or the other operand is (NONE)."""

    NONE = 0
    ALL = 0xFFFF

    # Becomes part of a function's name in the IR.
    def __repr__(self) -> str:
        return self.name


class const:
    """Annotation of a pointer that is only read from. Triton 2.3 has no such type: it says nothing there."""


class range:
    """`range` with hints for the compiler, which 2.3 takes from the launch (num_stages) or not at all.

    Only its name is used: the shim has the code generator treat it as Python's range.
    """

    def __init__(self, *args, **kwargs):
        msg = "tl.range can only be used in @triton.jit'd functions"
        raise RuntimeError(msg)


# Triton's hash of dependencies takes it for a class of Triton's.
range.__module__ = "triton.language.core"


def promoted(function, widths=(16,)):
    """`function` of fp32 and fp64 arguments, computing 16-bit floats in fp32 and rounding back."""

    def wide(*args, _builder=None):
        args = tuple(core._to_tensor(value(arg), _builder) for arg in args)
        floats = [arg.dtype for arg in args if arg.dtype.is_floating()]
        if not floats or max(dtype.primitive_bitwidth for dtype in floats) not in widths:
            return function(*args, _builder=_builder)
        narrow = args[0]
        for arg in args[1:]:
            narrow, _ = semantic.binary_op_type_checking_impl(narrow, arg, _builder)
        result = function(
            *[semantic.cast(arg, core.float32, _builder) for arg in args], _builder=_builder
        )
        return semantic.cast(result, narrow.dtype, _builder)

    return wide


@builtin
def fma(x, y, z, _builder=None):
    return promoted(tl.math.fma)(x, y, z, _builder=_builder)


@builtin
def cast(input, dtype, fp_downcast_rounding=None, bitcast=False, _builder=None):
    tensor = core._to_tensor(value(input), _builder)
    dtype = value(dtype)
    # By position, a tensor's second argument was bitcast on 2.3.
    if value(fp_downcast_rounding) is True or value(bitcast):
        return semantic.bitcast(tensor, dtype, _builder)
    if value(fp_downcast_rounding) not in (None, False, "rtne"):
        msg = "Triton before 3.0 rounds to nearest only: upgrade, or leave fp_downcast_rounding out"
        raise NotImplementedError(msg)
    return semantic.cast(tensor, dtype, _builder)


@builtin
def clamp(x, min, max, propagate_nan=PropagateNan.NONE, _builder=None):
    x, low, high = (core._to_tensor(value(item), _builder) for item in (x, min, max))
    x, low, high = (
        core._promote_reduction_input(item, _builder=_builder) for item in (x, low, high)
    )
    if not x.dtype.is_floating():
        msg = f"Unexpected dtype {x.dtype}. Only floating point clamp is supported"
        raise TypeError(msg)
    inside = tl.math.min(tl.math.max(x, low, _builder=_builder), high, _builder=_builder)
    if value(propagate_nan) == PropagateNan.ALL:
        return core.where(semantic.not_equal(x, x, _builder), x, inside, _builder=_builder)
    return inside


def as_integers(x, _builder):
    """`x` as integers of the same bits, and the function that turns such integers back."""
    dtype = x.dtype
    if dtype.is_int1():
        return semantic.cast(x, core.int8, _builder), lambda y: semantic.cast(y, dtype, _builder)
    if dtype.is_ptr():
        return semantic.cast(x, core.int64, _builder), lambda y: semantic.cast(y, dtype, _builder)
    if dtype.is_floating():
        bits = {8: core.int8, 16: core.int16, 32: core.int32, 64: core.int64}
        integers = semantic.bitcast(x, bits[dtype.primitive_bitwidth], _builder)
        return integers, lambda y: semantic.bitcast(y, dtype, _builder)
    return x, lambda y: y


def power_of_two_log(number):
    if number & (number - 1) or not number:
        msg = f"{number} is no power of two"
        raise ValueError(msg)
    return number.bit_length() - 1


@builtin
def flip(x, dim=None, _builder=None, _generator=None):
    shape = values(x.shape)
    dim = value(dim)
    dim = core._wrap_axis(len(shape) - 1 if dim is None else dim, len(shape))
    steps = power_of_two_log(python_math.prod(shape))
    first = power_of_two_log(python_math.prod(shape[:dim]))
    bits, back = as_integers(x, _builder)
    y = semantic.reshape(bits, [2] * steps, _builder)
    # Along an axis of two, each element is the XOR of both with the other: no arithmetic, so NaN and -0.0 survive.
    for axis in builtins.range(first, first + power_of_two_log(shape[dim])):
        both = tl.standard.xor_sum(y, axis, _builder=_builder, _generator=_generator)
        both = core.expand_dims(both, axis, _builder=_builder)
        y = semantic.xor_(semantic.broadcast_impl_shape(both, [2] * steps, _builder), y, _builder)
    return back(semantic.reshape(y, shape, _builder))


def _which(rank, _builder):
    """0 and 1 along the last of `rank` axes."""
    index = core.arange(0, 2, _builder=_builder)
    for _ in builtins.range(rank - 1):
        index = semantic.expand_dims(index, 0, _builder)
    return index


@builtin
def join(a, b, _builder=None):
    a, b = (core._to_tensor(value(item), _builder) for item in (a, b))
    a, b = semantic.broadcast_impl_value(a, b, _builder)
    rank = len(a.shape)
    shape = [*values(a.shape), 2]
    a, b = (
        semantic.broadcast_impl_shape(semantic.expand_dims(item, rank, _builder), shape, _builder)
        for item in (a, b)
    )
    first = semantic.equal(_which(rank + 1, _builder), core._to_tensor(0, _builder), _builder)
    return core.where(
        semantic.broadcast_impl_shape(first, shape, _builder), a, b, _builder=_builder
    )


@builtin
def split(a, _builder=None, _generator=None):
    shape = values(a.shape)
    if not shape or shape[-1] != 2:
        msg = f"split needs a last dimension of 2, not the shape {shape}"
        raise ValueError(msg)
    bits, back = as_integers(a, _builder)
    which = semantic.broadcast_impl_shape(_which(len(shape), _builder), shape, _builder)
    zero = core.full(shape, 0, bits.dtype, _builder=_builder)
    halves = []
    for half in (0, 1):
        mine = semantic.equal(which, core._to_tensor(half, _builder), _builder)
        masked = core.where(mine, bits, zero, _builder=_builder)
        # The other of the two is zero, so their XOR is this one, bit for bit.
        part = tl.standard.xor_sum(masked, len(shape) - 1, _builder=_builder, _generator=_generator)
        halves.append(back(part))
    return tuple(halves)


@builtin
def interleave(a, b, _builder=None):
    joined = join(a, b, _builder=_builder)
    shape = values(joined.shape)
    if len(shape) == 1:
        return joined
    return semantic.reshape(joined, [*shape[:-2], 2 * shape[-2]], _builder)


@builtin
def permute(input, *dims, _builder=None):
    order = shape_of(dims)
    if sorted(order) != list(builtins.range(len(input.shape))):
        msg = f"permute dims must be a permutation of 0, 1, ..., n-1, but were {order}"
        raise ValueError(msg)
    if order == sorted(order):
        return input
    if order == [1, 0]:
        return semantic.trans(input, _builder)
    msg = f"Triton before 3.0 cannot permute {len(order)} dimensions to {order}: it transposes matrices only"
    raise NotImplementedError(msg)


@builtin
def histogram(input, num_bins, _builder=None, _generator=None):
    count, bins = values(input.shape)[0], value(num_bins)
    if len(input.shape) != 1 or not input.dtype.is_int():
        msg = "histogram needs a vector of integers"
        raise ValueError(msg)
    grid = [count, bins]
    value_at = semantic.broadcast_impl_shape(
        semantic.expand_dims(input, 1, _builder), grid, _builder
    )
    bin_at = semantic.expand_dims(core.arange(0, bins, _builder=_builder), 0, _builder)
    hit = semantic.equal(value_at, semantic.broadcast_impl_shape(bin_at, grid, _builder), _builder)
    ones = semantic.cast(hit, core.int32, _builder)
    return core.reduce(ones, 0, tl.standard._sum_combine, _builder=_builder, _generator=_generator)


def get_int_dtype(bitwidth, signed):
    bits, signed = value(bitwidth), value(signed)
    name = "int1" if bits == 1 else f"{'int' if signed else 'uint'}{bits}"
    if not hasattr(core, name):
        msg = f"Unsupported bitwidth {bits} and signedness {signed}"
        raise ValueError(msg)
    return getattr(core, name)


# Called by name while a kernel is hashed.
get_int_dtype.__module__ = "triton.language.core"

# Names in triton.language.core only, which kernels use nevertheless.
CORE_NAMES = {"CONSTEXPR_0": core.constexpr(0), "get_int_dtype": get_int_dtype}

NAMES = {
    "rsqrt": tl.math.rsqrt,
    "exp2": tl.math.exp2,
    "log2": tl.math.log2,
    "erf": tl.math.erf,
    "floor": tl.math.floor,
    "ceil": tl.math.ceil,
    "sqrt_rn": tl.math.sqrt_rn,
    "div_rn": tl.math.div_rn,
    "fma": fma,
    "cast": cast,
    "clamp": clamp,
    "const": const,
    "flip": flip,
    "histogram": histogram,
    "interleave": interleave,
    "join": join,
    "permute": permute,
    "PropagateNan": PropagateNan,
    "range": range,
    "split": split,
}
