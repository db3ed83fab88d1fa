"""Statements that fold an axis, or run along it."""

from __future__ import annotations

from .builder import Builder
from .elementwise import computable, extreme, tame
from .values import Value, holds

# Reduced and scanned as a wider type by some releases and not by others.
_NARROW = ("int8", "int16", "float16", "bfloat16")


def _shaped(builder: Builder) -> tuple[Value, int] | None:
    value = builder.some(
        lambda one: computable(one) and len(one.shape) in (1, 2, 3) and 1 not in one.shape
    )
    return None if value is None else (value, builder.choices.below(len(value.shape)))


def _typed(text: str, value: Value) -> str:
    return f"{text}.to(tl.{value.dtype})" if value.dtype in _NARROW else text


def _summable(builder: Builder, value: Value, axis: int) -> tuple[Value, tuple[int, int]]:
    """`value`, or what is made of it, such that every partial sum is held; and the bounds of such sums."""
    length = value.shape[axis]
    if not holds(value.dtype, -value.most * length, value.most * length):
        most = 2
        while most < 64 and holds(value.dtype, 0, 2 * most * length):
            most *= 2
        if not holds(value.dtype, 0, most * length):
            value = tame(builder, value, 64, "int32")
        else:
            value = tame(builder, value, most)
    return value, (min(0, value.low) * length, max(0, value.high) * length)


def reduce(builder: Builder) -> None:
    found = _shaped(builder)
    if found is None:
        return
    value, axis = found
    kinds = ["sum", "max", "min", "argmax", "argmin", "larger", "added"]
    kind = builder.choices.one_of(kinds + (["xor_sum"] if value.dtype == "int32" else []))
    if kind == "larger" and not extreme(builder, value):
        kind = "max"
    flat = len(value.shape) == 1 and builder.made_by(value) in ("reshape", "interleave")
    if kind in ("argmax", "argmin") and flat and not builder.allowed("argmax-reshaped"):
        kind = "max"
    bounds = (value.low, value.high)
    if kind in ("sum", "added"):
        value, bounds = _summable(builder, value, axis)
    keep = ""
    shape = (*value.shape[:axis], *value.shape[axis + 1 :])
    if builder.has("tl.reduce(keep_dims=True)") and builder.choices.chance(1, 6):
        builder.use("tl.reduce(keep_dims=True)")
        keep = ", keep_dims=True"
        shape = (*value.shape[:axis], 1, *value.shape[axis + 1 :])
    kept = ", keepdims=True" if keep else ""
    name = value.name
    if kind in ("argmax", "argmin"):
        # The first of equal ones, in numpy as in Triton.
        builder.let(
            "int32", shape, (0, value.shape[axis] - 1), f"tl.{kind}({name}, {axis}{keep})",
            f"np.{kind}({name}, {axis}{kept})", kind,
        )  # fmt: skip
        return
    if kind == "xor_sum":
        bits = value.most.bit_length()
        bounds = (-(2**bits) if value.low < 0 else 0, 2**bits - 1)
        meaning = f"np.bitwise_xor.reduce({name}, {axis}{kept})"
    elif kind in ("sum", "added"):
        meaning = f"np.sum({name}, {axis}{kept})"
    else:
        meaning = f"np.{'min' if kind == 'min' else 'max'}({name}, {axis}{kept})"
    kernel = f"tl.{kind}({name}, {axis}{keep})"
    if kind in ("larger", "added"):
        kernel = f"tl.reduce({name}, {axis}, {kind}{keep})"
    builder.let(value.dtype, shape, bounds, _typed(kernel, value), meaning, f"reduce-{kind}")


def scan(builder: Builder) -> Value | None:
    found = _shaped(builder)
    if found is None:
        return None
    # Of what the blocks of a cluster share the newest releases say that such a scan is not supported.
    if "num-ctas" in builder.tags:
        return None
    value, axis = found
    # Of fewer elements than a warp has lanes.
    if value.size < 32 and not builder.allowed("scan-short"):
        return None
    kind = builder.choices.one_of(("cumsum", "larger", "added"))
    if kind == "larger" and not extreme(builder, value):
        kind = "cumsum"
    bounds = (value.low, value.high)
    if kind != "larger":
        value, bounds = _summable(builder, value, axis)
    name, backwards = value.name, ""
    if builder.has("tl.cumsum(reverse=True)") and builder.choices.chance(1, 4):
        builder.use("tl.cumsum(reverse=True)")
        backwards = ", reverse=True"
        builder.tags.add("scan-reverse")
    along = f"np.flip({name}, {axis})" if backwards else name
    meaning = (
        f"np.maximum.accumulate({along}, {axis})"
        if kind == "larger"
        else f"np.cumsum({along}, {axis})"
    )
    if backwards:
        meaning = f"np.flip({meaning}, {axis})"
    kernel = f"tl.cumsum({name}, {axis}{backwards})"
    if kind != "cumsum":
        kernel = f"tl.associative_scan({name}, {axis}, {kind}{backwards})"
    return builder.let(
        value.dtype, value.shape, bounds, _typed(kernel, value), meaning, f"scan-{kind}"
    )
