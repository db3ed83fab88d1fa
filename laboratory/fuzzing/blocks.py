"""Statements that load and store whole tiles: block pointers, which a loop may carry, and tensor descriptors.

Elements beyond the tile's declared edge read as zero and are not written, so such a tile may cross it.
"""

from __future__ import annotations

from dataclasses import dataclass

from . import memory
from .builder import TRIPS, Builder
from .elementwise import computable
from .values import LARGEST, Value

_BLOCK_POINTER = "tl.make_block_ptr"
_CHECKED = (
    "tl.load(boundary_check=(0,))", 'tl.load(padding_option="zero")', "tl.store(boundary_check=(0,))",
)  # fmt: skip
_DESCRIPTOR = "tl.make_tensor_descriptor"
# Bytes of an element that a descriptor moves; its rows are multiples of 16 bytes.
_BYTES = {"float16": 2, "bfloat16": 2, "int32": 4, "float32": 4, "int8": 1}
_ROW_BYTES = 16
_LENGTHS = (16, 32, 64)


@dataclass(frozen=True)
class _Tile:
    """A tile in memory that has `shape` elements in this iteration of this block.

    Attributes:
        first: the start of that memory, as an expression.
        size: elements that all iterations of all blocks need.
        extents: how many rows and columns are within the edge.
        offsets: of the tile's first element.
        transposed: columns are contiguous in memory, not rows.
    """

    shape: tuple[int, int]
    first: str
    size: int
    extents: tuple[int, int]
    offsets: tuple[int, int]
    transposed: bool = False

    @property
    def strides(self) -> tuple[int, int]:
        return (1, self.shape[0]) if self.transposed else (self.shape[1], 1)

    @property
    def beyond(self) -> tuple[int, ...]:
        """Axes along which it reaches over the edge."""
        ends = zip(self.shape, self.offsets, self.extents, strict=True)
        return tuple(axis for axis, (length, at, end) in enumerate(ends) if at + length > end)

    def meant(self, builder: Builder) -> tuple[str, str]:
        """Names of its memory offsets (0 beyond the edge), and of the mask of those within the edge."""
        rows, columns = (builder.along(self.shape, axis) for axis in range(2))
        rows, columns = f"({rows} + {self.offsets[0]})", f"({columns} + {self.offsets[1]})"
        place, inside = builder.fresh("at"), builder.fresh("inside")
        within = f"({rows} < {self.extents[0]}) & ({columns} < {self.extents[1]})"
        builder.meant(f"{inside} = {within}")
        at = f"{self.first} + {rows} * {self.strides[0]} + {columns} * {self.strides[1]}"
        builder.meant(f"{place} = np.where({inside}, {at}, 0)")
        return place, inside


def _tile(builder: Builder, shape: tuple[int, int], transposed: bool) -> _Tile:
    choices = builder.choices
    first, size = builder.memory(shape)
    extents, offsets = shape, (0, 0)
    if choices.chance(1, 2):
        less = choices.one_of((3, 0, 1, shape[0] - 1)), choices.one_of((0, 5, 1))
        extents = shape[0] - less[0], shape[1] - less[1]
    if choices.chance(1, 4):
        offsets = choices.one_of(((2, 0), (0, 1), (3, 4)))
    return _Tile(shape, first, size, extents, offsets, transposed)


def _shape(builder: Builder) -> tuple[int, int]:
    return builder.choices.one_of(_LENGTHS), builder.choices.one_of(_LENGTHS)


def _pointer(builder: Builder, name: str, tile: _Tile) -> str:
    """A line that makes a block pointer to `tile` in the tensor `name`; its name."""
    made = builder.fresh("p")
    order = (0, 1) if tile.transposed else (1, 0)
    builder.said(
        f"{made} = tl.make_block_ptr({name} + {tile.first}, {tile.extents}, {tile.strides}, {tile.offsets}, "
        f"{tile.shape}, {order})"
    )
    return made


def _checked(builder: Builder, tile: _Tile) -> str:
    """The axes that are to be checked: those that need it, and perhaps the others."""
    axes = (0, 1) if builder.choices.chance(1, 3) else tile.beyond
    return f"boundary_check={axes}" if axes else ""


def _may_point(builder: Builder) -> bool:
    names = (_BLOCK_POINTER, *_CHECKED)
    if not all(map(builder.has, names)):
        return False
    builder.use(*names)
    return True


def pointer_load(builder: Builder) -> None:
    """A tile by a block pointer."""
    if not _may_point(builder):
        return
    dtype = builder.choices.one_of(("float32", "int32", "float16", "int8", "bfloat16"))
    tile = _tile(builder, _shape(builder), builder.choices.chance(1, 4))
    low, high = memory.LOADED[dtype]
    name = builder.input(dtype, tile.size, low, high)
    pointer, checked = _pointer(builder, name, tile), _checked(builder, tile)
    # A tile with an edge has a padding value beyond it.
    extra = f', {checked}, padding_option="zero"' if checked else ""
    place, inside = tile.meant(builder)
    bounds = (min(0, low), max(0, high)) if tile.beyond else (low, high)
    builder.let(
        dtype, tile.shape, bounds, f"tl.load({pointer}{extra})",
        f"np.where({inside}, {name}[{place}], 0)", "block-pointer",
    )  # fmt: skip


def _stored(builder: Builder) -> Value | None:
    return builder.some(
        lambda one: (
            computable(one) and len(one.shape) == 2 and one.dtype in _BYTES and min(one.shape) >= 16
        )
    )


def pointer_store(builder: Builder) -> None:
    """Stores a tile by a block pointer; the part beyond the edge is not written."""
    value = _stored(builder)
    if value is None or not _may_point(builder):
        return
    tile = _tile(builder, (value.shape[0], value.shape[1]), builder.choices.chance(1, 4))
    name = builder.output(value.dtype, tile.size, -7)
    pointer, checked = _pointer(builder, name, tile), _checked(builder, tile)
    place, inside = tile.meant(builder)
    extra = f", {checked}" if checked else ""
    builder.line(
        f"tl.store({pointer}, {value.name}{extra})",
        f"{name}[{place}[{inside}]] = {value.name}[{inside}]",
    )
    builder.tags.add("block-pointer-store")


def advancing(builder: Builder) -> None:
    """A loop over tiles that hands on the block pointer, adding them up or multiplying by them."""
    if builder.slots[1] > 1 or not _may_point(builder) or not builder.has("tl.advance"):
        return
    builder.use("tl.advance")
    choices = builder.choices
    product = choices.chance(1, 2)
    dtype = "float16" if product else choices.one_of(("float32", "int32"))
    rows, columns = choices.one_of((16, 32)), choices.one_of((16, 32))
    out = "float32" if dtype == "float16" else dtype
    shape = (rows, rows) if product else (rows, columns)
    low, high = (-2, 2) if product else memory.LOADED[dtype]
    # The tiles of all iterations are side by side.
    wide = TRIPS * columns
    first, size = builder.memory((rows, wide))
    if size > 4 * LARGEST:
        return
    name = builder.input(dtype, size, low, high)
    most = TRIPS * (columns * high * high if product else max(-low, high))
    total = builder.let(
        out, shape, (-most, most), f"tl.zeros({list(shape)}, tl.{out})", f"np.zeros({shape})",
        "block-pointer-advanced",
    )  # fmt: skip
    pointer = builder.fresh("p")
    builder.said(
        f"{pointer} = tl.make_block_ptr({name} + {first}, ({rows}, {wide}), ({wide}, 1), (0, 0), "
        f"({rows}, {columns}), (1, 0))"
    )
    index = builder.fresh("i")
    along = [builder.along((rows, columns), axis) for axis in range(2)]
    with builder.block(f"for {index} in range(0, trips):"):
        place = f"{first} + {along[0]} * {wide} + {index} * {columns} + {along[1]}"
        # Read before the iteration's sum; the pointer advances before or after it.
        tile = builder.let(dtype, (rows, columns), (low, high), f"tl.load({pointer})", f"{name}[{place}]")  # fmt: skip
        early = choices.chance(1, 2)
        if early:
            builder.said(f"{pointer} = tl.advance({pointer}, (0, {columns}))")
        if product:
            wider = f"{tile.name}.astype(np.float64)"
            builder.assign(
                total, f"tl.dot({tile.name}, tl.trans({tile.name}), {total.name})",
                f"{total.name} + {wider} @ {wider}.T",
            )  # fmt: skip
        else:
            builder.assign(total, f"{total.name} + {tile.name}")
        if not early:
            builder.said(f"{pointer} = tl.advance({pointer}, (0, {columns}))")


def _described(builder: Builder, dtype: str, shape: tuple[int, int]) -> _Tile | None:
    """A tile that a descriptor moves: its rows are multiples of 16 bytes."""
    if not builder.has(_DESCRIPTOR) or shape[1] * _BYTES[dtype] % _ROW_BYTES or max(shape) > 256:
        return None
    builder.use(_DESCRIPTOR)
    return _tile(builder, shape, transposed=False)


def _descriptor(builder: Builder, name: str, tile: _Tile) -> str:
    made = builder.fresh("d")
    builder.said(
        f"{made} = tl.make_tensor_descriptor({name} + {tile.first}, {list(tile.extents)}, {list(tile.strides)}, "
        f"{list(tile.shape)})"
    )
    return made


def descriptor_load(builder: Builder) -> None:
    dtype = builder.choices.one_of(("float16", "float32", "int32", "bfloat16", "int8"))
    tile = _described(builder, dtype, _shape(builder))
    if tile is None:
        return
    low, high = memory.LOADED[dtype]
    name = builder.input(dtype, tile.size, low, high)
    descriptor = _descriptor(builder, name, tile)
    place, inside = tile.meant(builder)
    bounds = (min(0, low), max(0, high)) if tile.beyond else (low, high)
    builder.let(
        dtype, tile.shape, bounds, f"{descriptor}.load({list(tile.offsets)})",
        f"np.where({inside}, {name}[{place}], 0)", "descriptor",
    )  # fmt: skip


def descriptor_store(builder: Builder) -> None:
    value = _stored(builder)
    if value is None:
        return
    tile = _described(builder, value.dtype, (value.shape[0], value.shape[1]))
    if tile is None:
        return
    name = builder.output(value.dtype, tile.size, -7)
    descriptor = _descriptor(builder, name, tile)
    place, inside = tile.meant(builder)
    builder.line(
        f"{descriptor}.store({list(tile.offsets)}, {value.name})",
        f"{name}[{place}[{inside}]] = {value.name}[{inside}]",
    )
    builder.tags.add("descriptor-store")
