"""Statements that fold an axis, or run along it."""

from __future__ import annotations

from .builder import Builder
from .elementwise import comparable, computable, extreme, tame
from .values import Value, holds

# Reduced and scanned as a wider type by some releases and not by others.
_NARROW = ("int8", "int16", "float16", "bfloat16")
_REVERSED = "tl.associative_scan(reverse=True)"


def _shaped(builder: Builder) -> tuple[Value, int] | None:
    value = builder.some(
        lambda one: computable(one) and len(one.shape) in (1, 2, 3) and 1 not in one.shape
    )
    return None if value is None else (value, builder.choices.below(len(value.shape)))


def _typed(text: str, value: Value) -> str:
    return f"{text}.to(tl.{value.dtype})" if value.dtype in _NARROW else text


def _summable(builder: Builder, value: Value, axis: int) -> tuple[Value, tuple[int, int]]:
    """Returns `value`, or a reduced one, such that its type holds every partial sum; and the bounds of the sums."""
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
    if kind in ("argmax", "argmin", "larger") and not comparable(builder, value):
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
    keepdims = ", keepdims=True" if keep else ""
    name = value.name
    if kind in ("argmax", "argmin"):
        # The first of equal ones, in numpy as in Triton.
        _reduced(builder, builder.let(
            "int32", shape, (0, value.shape[axis] - 1), f"tl.{kind}({name}, {axis}{keep})",
            f"np.{kind}({name}, {axis}{keepdims})", kind,
        ))  # fmt: skip
        return
    if kind == "xor_sum":
        bits = value.most.bit_length()
        bounds = (-(2**bits) if value.low < 0 else 0, 2**bits - 1)
        meaning = f"np.bitwise_xor.reduce({name}, {axis}{keepdims})"
    elif kind in ("sum", "added"):
        meaning = f"np.sum({name}, {axis}{keepdims})"
    else:
        meaning = f"np.{'min' if kind == 'min' else 'max'}({name}, {axis}{keepdims})"
    kernel = f"tl.{kind}({name}, {axis}{keep})"
    if kind in ("larger", "added"):
        kernel = f"tl.reduce({name}, {axis}, {kind}{keep})"
    made = builder.let(value.dtype, shape, bounds, _typed(kernel, value), meaning, f"reduce-{kind}")
    _reduced(builder, made)


def _reduced(builder: Builder, *made: Value) -> None:
    builder.reduced.update(one.name for one in made if len(one.shape) == 1)


def _scannable(builder: Builder, value: Value, axis: int) -> int:
    """An axis that `value` may be scanned along: its last one, where no other may be."""
    last = len(value.shape) - 1
    return axis if axis == last or builder.allowed("scan-outer") else last


def scan(builder: Builder) -> Value | None:
    found = _shaped(builder)
    if found is None:
        return None
    # For tensors shared by a cluster's blocks, the newest releases say that such a scan is not supported.
    if "num-ctas" in builder.tags:
        return None
    value, axis = found
    # Fewer elements than a warp has lanes.
    if value.size < 32 and not builder.allowed("scan-short"):
        return None
    axis = _scannable(builder, value, axis)
    kind = builder.choices.one_of(("cumsum", "larger", "added"))
    if kind == "larger" and not (extreme(builder, value) and comparable(builder, value)):
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


def paired(builder: Builder) -> None:
    """A reduction or a scan of two tensors at once: each value carries its partner along."""
    found = _shaped(builder)
    if found is None or "bfloat16" == found[0].dtype:
        return
    value, axis = found
    if not comparable(builder, value):
        return
    other = builder.some(
        lambda one: computable(one) and one.shape == value.shape and one.dtype != "bfloat16"
    )
    # Ties are broken by the value beside them.
    if other is not None and not comparable(builder, other):
        other = None
    # The compared value, and the one that is only carried along.
    value, other = tame(builder, value, 2**20), tame(builder, other or value, 2**20)
    flat = len(value.shape) == 1 and bool(
        {builder.made_by(one) for one in (value, other)} & {"reshape", "interleave"}
    )
    # Triton 2.3 scans one tensor at a time; several came with the other direction.
    several = builder.has(_REVERSED) and "num-ctas" not in builder.tags
    scanned = builder.choices.chance(1, 3) and several
    if scanned and value.size < 32 and not builder.allowed("scan-short"):
        return
    if not scanned and flat and not builder.allowed("argmax-reshaped"):
        return
    if scanned:
        axis = _scannable(builder, value, axis)
    names = f"({value.name}, {other.name}), {axis}, pairs"
    both, every = builder.fresh("both"), other.high - other.low + 1
    key = f"({value.name}.astype(np.int64) * {every} + ({other.high} - {other.name}.astype(np.int64)))"
    if scanned:
        builder.use(_REVERSED)
        kernel, shape = f"tl.associative_scan({names})", value.shape
        builder.meant(f"{both} = np.maximum.accumulate({key}, {axis})")
    else:
        kernel, shape = f"tl.reduce({names})", (*value.shape[:axis], *value.shape[axis + 1 :])
        builder.meant(f"{both} = np.max({key}, {axis})")
    builder.tags.add("scan-pairs" if scanned else "reduce-pairs")
    made = [Value(builder.fresh(), one.dtype, shape, one.low, one.high) for one in (value, other)]
    builder.line(
        f"{made[0].name}, {made[1].name} = {kernel}",
        f"{made[0].name}, {made[1].name} = {both} // {every}, {other.high} - {both} % {every}",
    )
    for one in made:
        builder.assign(one, one.name)
    if not scanned:
        _reduced(builder, *made)
    builder.pool += made
