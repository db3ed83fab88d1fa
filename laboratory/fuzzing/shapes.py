"""Statements that move elements: transposed, broadcast, cut, joined, sorted, gathered."""

from __future__ import annotations

from .builder import Builder
from .elementwise import computable
from .values import LARGEST, Value

_PERMUTATIONS = ((2, 0, 1), (1, 2, 0), (0, 2, 1), (2, 1, 0), (1, 0, 2))
# Elements that are sorted; the network grows with the square of the logarithm.
_SORTED = 1024


def _shaped(builder: Builder, *dimensions: int) -> Value | None:
    """A tensor without an axis of length 1, on which not much can be moved."""
    return builder.some(
        lambda value: computable(value) and len(value.shape) in dimensions and 1 not in value.shape
    )


def _moved(
    builder: Builder, value: Value, shape: tuple[int, ...], kernel: str, meaning: str, tag: str
) -> Value:
    return builder.let(value.dtype, shape, (value.low, value.high), kernel, meaning, tag)


def transpose(builder: Builder) -> Value | None:
    value = _shaped(builder, 2, 3)
    if value is None:
        return None
    if len(value.shape) == 3:
        if not builder.has("tl.permute"):
            return None
        builder.use("tl.permute")
        order = builder.choices.one_of(_PERMUTATIONS)
        shape = (value.shape[order[0]], value.shape[order[1]], value.shape[order[2]])
        return _moved(
            builder, value, shape, f"tl.permute({value.name}, {list(order)})",
            f"np.transpose({value.name}, {order})", "permute",
        )  # fmt: skip
    return _moved(
        builder, value, value.shape[::-1], f"tl.trans({value.name})", f"{value.name}.T", "trans"
    )


def expand(builder: Builder) -> None:
    """One axis more, and perhaps broadcast along it."""
    value = _shaped(builder, 1)
    if value is None:
        return
    axis = builder.choices.below(2)
    shape = (1, value.shape[0]) if axis == 0 else (value.shape[0], 1)
    made = _moved(
        builder, value, shape, f"tl.expand_dims({value.name}, {axis})",
        f"np.expand_dims({value.name}, {axis})", "expand",
    )  # fmt: skip
    length = builder.choices.one_of((0, 16, 32, 64))
    if length and length * value.size <= LARGEST // 2:
        builder.read(made)
        full = (length, value.shape[0]) if axis == 0 else (value.shape[0], length)
        _moved(
            builder, made, full, f"tl.broadcast_to({made.name}, {list(full)})",
            f"np.broadcast_to({made.name}, {full})", "broadcast",
        )  # fmt: skip


def reshape(builder: Builder) -> None:
    value = _shaped(builder, 1, 2, 3)
    if value is None:
        return
    shape = [value.size]
    for _ in range(builder.choices.below(3)):
        length = builder.choices.one_of((2, 16, 4, 32, 8))
        if shape[-1] // length < 2:
            break
        shape = [*shape[:-1], length, shape[-1] // length]
    # In the order of the elements, which `tl.view` of some releases does not keep.
    _moved(
        builder, value, tuple(shape), f"tl.reshape({value.name}, {shape})",
        f"np.reshape({value.name}, {tuple(shape)})", "reshape",
    )  # fmt: skip


def join(builder: Builder) -> None:
    value = _shaped(builder, 1, 2)
    if value is None or value.size > LARGEST // 2:
        return
    name = builder.choices.one_of(("join", "interleave"))
    if not builder.has(f"tl.{name}"):
        return
    builder.use(f"tl.{name}")
    other = builder.some(
        lambda one: one.dtype == value.dtype and one.shape == value.shape and one != value
    )
    other = other or value
    bounds = (min(value.low, other.low), max(value.high, other.high))
    shape = (*value.shape, 2)
    meaning = f"np.stack([{value.name}, {other.name}], -1)"
    if name == "interleave":
        shape = (*value.shape[:-1], 2 * value.shape[-1])
        meaning += f".reshape({shape})"
    builder.let(value.dtype, shape, bounds, f"tl.{name}({value.name}, {other.name})", meaning, name)


def split(builder: Builder) -> None:
    """The two halves of a last axis of length 2, after it was made so."""
    value = _shaped(builder, 1, 2, 3)
    if value is None or not builder.has("tl.split") or value.size < 4:
        return
    builder.use("tl.split")
    if value.shape[-1] != 2:
        if value.shape[-1] < 4 or len(value.shape) == 3:
            return
        shape = (*value.shape[:-1], value.shape[-1] // 2, 2)
        value = _moved(
            builder, value, shape, f"tl.reshape({value.name}, {list(shape)})",
            f"np.reshape({value.name}, {shape})", "reshape",
        )  # fmt: skip
        builder.read(value)
    if len(value.shape) == 1:
        return
    halves = [
        Value(builder.fresh(), value.dtype, value.shape[:-1], value.low, value.high)
        for _ in range(2)
    ]
    names = ", ".join(half.name for half in halves)
    builder.line(
        f"{names} = tl.split({value.name})",
        f"{names} = {value.name}[..., 0], {value.name}[..., 1]",
    )
    builder.tags.add("split")
    for half in halves:
        builder.assign(half, half.name)
    builder.pool += halves


def flip(builder: Builder) -> None:
    value = _shaped(builder, 1, 2)
    if value is None or value.size > 2 * _SORTED or not builder.has("tl.flip(dim=0)"):
        return
    axis = builder.choices.below(len(value.shape))
    if axis != len(value.shape) - 1 and not builder.allowed("flip-outer"):
        return
    builder.use("tl.flip(dim=0)")
    _moved(
        builder, value, value.shape, f"tl.flip({value.name}, {axis})",
        f"np.flip({value.name}, {axis})", "flip",
    )  # fmt: skip


def sort(builder: Builder) -> None:
    value = _shaped(builder, 1, 2)
    if value is None or value.size > _SORTED or value.dtype not in ("int32", "float32"):
        return
    if not builder.allowed("sort"):
        return
    if value.dtype == "float32":
        builder.tags.add("sort-float")
    if builder.choices.chance(1, 3):
        _moved(
            builder, value, value.shape, f"tl.sort({value.name}, descending=True)",
            f"np.flip(np.sort({value.name}, -1), -1)", "sort",
        )  # fmt: skip
        return
    _moved(
        builder, value, value.shape, f"tl.sort({value.name})", f"np.sort({value.name}, -1)", "sort"
    )


def gather(builder: Builder) -> None:
    value = _shaped(builder, 1, 2)
    if value is None or not builder.has("tl.gather"):
        return
    index = builder.some(lambda one: one.dtype == "int32" and one.shape == value.shape)
    if index is None:
        return
    if "num-ctas" in builder.tags and not builder.allowed("cluster-gather"):
        return
    builder.use("tl.gather")
    axis = builder.choices.below(len(value.shape))
    # Lengths are powers of two, so this is an index on the axis.
    places = f"{index.name} & {value.shape[axis] - 1}"
    _moved(
        builder, value, value.shape, f"tl.gather({value.name}, {places}, {axis})",
        f"np.take_along_axis({value.name}, {places}, {axis})", "gather",
    )  # fmt: skip


def histogram(builder: Builder) -> None:
    value = builder.some(lambda one: one.dtype == "int32" and len(one.shape) == 1)
    if value is None or value.size < 32 or not builder.has("tl.histogram"):
        return
    if value.name in builder.reduced and not builder.allowed("histogram-reduced"):
        return
    builder.use("tl.histogram")
    if value.low < 0 or value.high > 15:
        # Not made small by magnitude: a bin has no sign.
        value = builder.let("int32", value.shape, (0, 15), f"{value.name} & 15")
    builder.let(
        "int32", (16,), (0, value.size), f"tl.histogram({value.name}, 16)",
        f"np.bincount({value.name}, minlength=16)", "histogram",
    )  # fmt: skip
