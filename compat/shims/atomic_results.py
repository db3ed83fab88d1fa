"""The result of an atomic operation of few elements is wrong before Triton 3.5, where it gets another dimension.

``tl.atomic_add(x_ptr + tl.arange(0, 16), v)`` in a program of 128 threads: each element lies in eight of them, of which
one makes the atomic operation. What the other seven hold then is whatever was in their register, and a broadcast, a
transposition or another conversion of the layout may read it: wrong numbers without a word, on some GPUs and in some
launches, since what is read is what was written last.

Here such a tensor is repeated until it fills the threads, with all repetitions masked but the first, and the result is
the sum over the repetitions, of which the others count as zero: no thread holds a copy any more. As many atomic
operations are made as before.

Cost: a reduction of as many numbers as there are threads, dropped by the compiler where nobody reads what is returned.
Every other kernel becomes what it was; those with an atomic operation are compiled once more, under a separate key.
Not fixed: `tl.atomic_cas`, which takes no mask, and programs in clusters.
"""

from __future__ import annotations

import functools
from typing import Any, Callable, List

from .. import features
from ..acts import note_acted
from ..patterns import lazily
from ..reachable import source_says
from ..record import Concerned, Patches, Shim
from ..seams.attribute import around_traced

_NAMES = ("xchg", "add", "max", "min", "and", "or", "xor")
_ATOMICS = lazily(r"\batomic_(%s)\b" % "|".join(_NAMES))
# In the IR: … tt.atomic_rmw … : (tensor<16x!tt.ptr<f32>>, tensor<16xf32>, tensor<16xi1>) -> tensor<16xf32>
_OPERATION = lazily(r"tt\.atomic_rmw\b.*-> tensor<((?:\d+x)+)")
_WARP = 32
# The most threads that a program has.
_THREADS = 1024


def apply(patches: Patches) -> None:
    # Breakpoint: Triton 3.5 hands what one thread got to those that hold copies (triton-lang/triton#7460).
    import triton.language.semantic as semantic

    # Breakpoint: Triton 3.4 made the functions of `semantic` methods.
    owner = getattr(semantic, "TritonSemantic", semantic)
    for name in _NAMES:
        around_traced(patches, owner, f"atomic_{name}", _filled(owner))


def has_small_atomic(ir: str) -> bool:
    """Whether a kernel, as IR of Triton's, has an atomic operation of fewer elements than a program has threads."""
    shapes = _OPERATION.findall(ir)
    return any(
        _elements(list(map(int, shape.rstrip("x").split("x")))) < _THREADS for shape in shapes
    )


def _filled(owner: Any) -> Callable[..., Any]:
    as_method = isinstance(owner, type)

    def atomic_that_fills_the_threads(atomic: Callable[..., Any], *args: Any) -> Any:
        # (self, ptr, val, mask, sem, scope), or (ptr, val, mask, sem, scope, builder)
        if as_method:
            (language, *given), builder = args, args[0].builder
        else:
            (*given, builder), language = args, owner
        times = _times(given[0], builder.options)
        if times < 2:
            return atomic(*args)

        def call(name: str, *values: Any) -> Any:
            more = () if as_method else (builder,)
            return getattr(language, name)(*values, *more)

        note_acted(SHIM.name)
        ptr, val, mask, sem, scope = given
        given = [*_repeated(call, ptr, val, mask, times), sem, scope]
        result = atomic(language, *given) if as_method else atomic(*given, builder)
        return _first(call, builder, result, times)

    return atomic_that_fills_the_threads


def _times(ptr: Any, options: Any) -> int:
    """How often the elements fit into the threads of a program; 0 where the shim does not apply."""
    on_nvidia = not features.has_backends() or type(options).__name__.startswith("CUDA")
    if not ptr.type.is_block() or not on_nvidia or getattr(options, "num_ctas", 1) > 1:
        return 0
    return options.num_warps * _WARP // _elements(list(map(int, ptr.type.get_block_shapes())))


def _repeated(call: Callable[..., Any], ptr: Any, val: Any, mask: Any, times: int) -> List[Any]:
    """Pointers, values and mask with a new first dimension of `times`, whose first entry alone passes the mask."""
    import triton.language as tl

    shape = list(map(int, ptr.type.get_block_shapes()))

    def wide(value: Any) -> Any:
        value = call("broadcast_impl_shape", value, shape)
        return call("broadcast_impl_shape", call("expand_dims", value, 0), [times, *shape])

    first = _is_first(call, times, len(shape))
    first = call("broadcast_impl_shape", first, [times, *shape])
    # The same test as Triton's, up to 3.0.
    if mask is not None and (not isinstance(mask, bool) or not mask):
        mask = mask if isinstance(mask, tl.tensor) else call("full", [], mask, tl.int1)
        first = call("and_", first, wide(mask))
    return [wide(ptr), wide(val), first]


def _is_first(call: Callable[..., Any], times: int, dimensions: int) -> Any:
    import triton.language as tl

    number = call("arange", 0, times)
    for _ in range(dimensions):
        number = call("expand_dims", number, len(number.type.get_block_shapes()))
    zeros = call("full", list(number.type.get_block_shapes()), 0, tl.int32)
    return call("equal", number, zeros)


def _first(call: Callable[..., Any], builder: Any, result: Any, times: int) -> Any:
    """The first repetition of the result: a sum in which all bits of the others are zero."""
    import triton.language as tl

    shape = list(map(int, result.type.get_block_shapes()))
    scalar = result.type.scalar
    bits = {16: tl.int16, 32: tl.int32, 64: tl.int64}[scalar.primitive_bitwidth]
    whole = call("bitcast", result, bits)
    if bits == tl.int16:
        whole = call("cast", whole, tl.int32)
    first = call("broadcast_impl_shape", _is_first(call, times, len(shape) - 1), shape)
    whole = call("where", first, whole, call("full", shape, 0, whole.type.scalar))

    def add(reduce_op: Any) -> None:
        region = reduce_op.get_region(0)
        outside = builder.get_insertion_point()
        types = [whole.type.scalar.to_ir(builder)] * 2
        block = builder.create_block_with_parent(region, types)
        builder.create_reduce_ret(builder.create_add(block.arg(0), block.arg(1)))
        builder.restore_insertion_point(outside)

    (element,) = call("reduction", (whole,), 0, add)
    return call("bitcast", call("cast", element, bits), scalar)


def _elements(shape: List[int]) -> int:
    return functools.reduce(int.__mul__, shape, 1)


SHIM = Shim(
    name="atomic_results",
    issue="triton-7402",
    tier="silent",
    window="<3.5",
    symptom="silent wrong numbers from what a tl.atomic_add of few elements returns, broadcast or transposed",
    link="https://github.com/triton-lang/triton/issues/7402",
    delete_when="no column before Triton 3.5 is left",
    apply=apply,
    revision=1,
    concerns=Concerned(source_says(_ATOMICS), acts=has_small_atomic),
)
