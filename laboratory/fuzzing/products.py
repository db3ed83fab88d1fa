"""Matmuls: of every type, of two and three dimensions, chained, of transposed operands, accumulated."""

from __future__ import annotations

from .builder import Builder
from .elementwise import cast, computable, tame
from .memory import load
from .values import LARGEST, Value, holds

# The magnitude of an operand, in each type of operands; with K=64 the sum stays below 2**13.
_MOST = 8
_TYPES = (("float16", 6), ("bfloat16", 2), ("int8", 2), ("float32", 3), ("float8e5", 1))
_LENGTHS = (16, 32, 64)


def small(builder: Builder, shape: tuple[int, int], dtype: str) -> Value:
    """A tensor fit to be an operand: one that is there, made small and cast, or one that is loaded."""
    held = builder.some(lambda value: computable(value) and value.shape == shape)
    if held is not None and dtype == "int8" and not builder.allowed("dot-int8-made"):
        held = None
    if held is not None and builder.choices.chance(2, 3):
        if dtype == "float8e5":
            return cast(builder, tame(builder, held, 4, "float32"), dtype)
        return tame(builder, held, _MOST, dtype)
    if dtype == "float8e5":
        return cast(builder, load(builder, "float16", shape, (-2, 2)), dtype)
    if dtype == "float16" and builder.choices.chance(1, 6) and builder.allowed("dot-of-cast"):
        # Another type in memory: the cast is between the load and the matmul.
        return cast(builder, load(builder, "int8", shape, (-2, 2)), dtype)
    return load(builder, dtype, shape, (-2, 2))


def dot(builder: Builder, into: Value | None = None, most: int = 2**22) -> Value | None:
    """A matmul; with `into` one of its shape, of at most `most` in magnitude, to be added to it."""
    choices = builder.choices
    first = None
    if into is None:
        first = builder.some(
            lambda one: computable(one) and len(one.shape) == 2 and 16 <= min(one.shape) and max(one.shape) <= 64
        )  # fmt: skip
    dtype = choices.weighted(_TYPES)
    if into is not None and (dtype == "int8") != (into.dtype == "int32"):
        dtype = "int8" if into.dtype == "int32" else "float16"
    if dtype == "float8e5" and not builder.allowed("dot-float8"):
        dtype = "float16"
    made = dtype == "int8" and first is not None and first.shape[1] >= 32
    if made and not builder.allowed("dot-int8-made"):
        first = None
    if first is not None:
        rows, inner = first.shape
    else:
        rows, inner = choices.one_of(_LENGTHS), choices.one_of(_LENGTHS)
    columns = choices.one_of(_LENGTHS)
    if into is not None:
        rows, columns = into.shape
    if dtype in ("int8", "float8e5") and inner < 32:
        first, inner = None, 32
    if max(rows * columns, rows * inner, inner * columns) > LARGEST // 2:
        return None
    if first is not None:
        # No float8 comes from an integer.
        eight = dtype == "float8e5"
        left = tame(builder, first, 4 if eight else _MOST, "float32" if eight else dtype)
        left = left if left.dtype == dtype else cast(builder, left, dtype)
    else:
        left = small(builder, (rows, inner), dtype)
    if choices.chance(1, 3):
        right = small(builder, (columns, inner), dtype)
        other, meant = f"tl.trans({right.name})", f"{right.name}.T"
        builder.tags.add("dot-trans")
    else:
        right = small(builder, (inner, columns), dtype)
        other, meant = right.name, right.name
    if dtype in ("float16", "bfloat16") and first is not None and right.name in builder.widened:
        # The left operand, made of `first`, may be another matmul's result, in its threads' registers.
        if not builder.allowed("dot-made-cast"):
            return None
    out = "int32" if dtype == "int8" else "float32"
    bound = left.most * right.most * inner
    if bound > most:
        return None
    extra = ""
    if dtype == "float32":
        # With fewer bits the operands are exact as well, and so it may be either.
        if builder.has('tl.dot(input_precision="ieee")'):
            extra = choices.one_of(("", ', input_precision="ieee"'))
            if extra:
                builder.use('tl.dot(input_precision="ieee")')
        else:
            extra = choices.one_of(("", ", allow_tf32=False"))
    builder.tags.add(f"dot-{dtype}")
    product = f"{left.name}.astype(np.float64) @ {meant}.astype(np.float64)"
    if into is None or not holds(out, into.low - bound, into.high + bound):
        bounds = (-bound, bound)
        return builder.let(out, (rows, columns), bounds, f"tl.dot({left.name}, {other}{extra})", product)  # fmt: skip
    form = choices.one_of(("+=", "acc"))
    # Without `out_dtype`, which some releases take for the accumulator's type.
    if form == "acc" and out == "int32" and not builder.allowed("dot-int8-acc"):
        form = "+="
    builder.tags.add("dot-acc")
    kernel = (
        f"{into.name} + tl.dot({left.name}, {other}{extra})"
        if form == "+="
        else f"tl.dot({left.name}, {other}, {into.name}{extra})"
    )
    builder.assign(into, kernel, f"{into.name} + {product}")
    return into


def chained(builder: Builder) -> None:
    """A matmul of a matmul: made small, perhaps transposed, cast, and multiplied again."""
    one = dot(builder)
    if one is None or min(one.shape) < 16:
        return
    narrow = tame(builder, one, _MOST, "float16")
    name, meant, (rows, inner) = narrow.name, narrow.name, narrow.shape
    if builder.choices.chance(1, 2):
        name, meant, (inner, rows) = f"tl.trans({name})", f"{name}.T", narrow.shape
        builder.tags.add("dot-trans-dot")
    columns = builder.choices.one_of(_LENGTHS)
    if max(rows, inner) * columns > LARGEST // 2:
        return
    right = small(builder, (inner, columns), "float16")
    beside = name != narrow.name and right.name in builder.widened
    made = name == narrow.name and right.name in builder.widened
    if (beside and not builder.allowed("dot-trans-cast")) or (
        made and not builder.allowed("dot-made-cast")
    ):
        right = load(builder, "float16", (inner, columns), (-2, 2))
    bound = narrow.most * right.most * inner
    builder.let(
        "float32", (rows, columns), (-bound, bound), f"tl.dot({name}, {right.name})",
        f"{meant}.astype(np.float64) @ {right.name}.astype(np.float64)", "dot-chained",
    )  # fmt: skip


def batched(builder: Builder) -> None:
    """A three-dimensional matmul."""
    # The table does not ask for a third dimension. It came with Triton 3.0, as `permute` did.
    if not builder.has("tl.permute") or not builder.allowed("dot-3d"):
        return
    builder.use("tl.permute")
    batch, length = builder.choices.one_of((2, 4)), builder.choices.one_of((16, 32))
    left, right = (load(builder, "float16", (batch, length, length), (-2, 2)) for _ in range(2))
    bound = 4 * length
    builder.let(
        "float32", (batch, length, length), (-bound, bound), f"tl.dot({left.name}, {right.name})",
        f"{left.name}.astype(np.float64) @ {right.name}.astype(np.float64)", "dot-3d",
    )  # fmt: skip
