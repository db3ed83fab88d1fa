"""Block pointers on pointers and masks, as values that Triton's own frontend carries.

A block pointer is a base, and for each dimension an extent, a stride and an offset (scalars, 64 bits each), and the
shape of the block, which is part of its type. To the frontend it is one more kind of value: flattened where a loop, a
branch or a call hands values on, and put together again on the other side. A load or store makes one row of addresses
for each dimension and lets them broadcast, so that contiguity and divisibility reach the vectoriser.

Import this only where Triton is there.
"""

from typing import Any, Iterable, List, Optional, Tuple

from triton.language import core
from triton.runtime.jit import JITCallable

UNUSED = (
    "tl.advance does not move a block pointer, it returns one that is moved:"
    " assign its result, as in p = tl.advance(p, offsets)"
)


class BlockPointerType(core.base_type):
    """The type of a block pointer: its element type and the block's shape. ``order`` was only ever a hint."""

    def __init__(self, base: Any, block_shape: Tuple[int, ...]):
        self.base = base
        self.block_shape = block_shape
        self.element_ty = core.block_type(base.element_ty, list(block_shape))
        self.const = base.const
        self.address_space = base.address_space
        self.name = f"block_pointer<{base}, {list(block_shape)}>"

    def __eq__(self, other):
        return (
            isinstance(other, BlockPointerType)
            and self.base == other.base
            and self.block_shape == other.block_shape
        )

    def __hash__(self):
        return hash(self.name)

    def __repr__(self):
        return self.name

    @property
    def scalar(self):
        return self

    def is_ptr(self):
        return True

    def is_block(self):
        return False

    def is_const(self):
        return self.const

    def mangle(self):
        const = "k" if self.const else ""
        return f"BP{const}{self.base.mangle()}S{'_'.join(map(str, self.block_shape))}S"

    def _flatten_ir_types(self, builder, out):
        self.base._flatten_ir_types(builder, out)
        for _ in range(3 * len(self.block_shape)):
            core.int64._flatten_ir_types(builder, out)

    def _unflatten_ir(self, handles, cursor):
        base, cursor = self.base._unflatten_ir(handles, cursor)
        rank = len(self.block_shape)
        scalars = []
        for _ in range(3 * rank):
            scalar, cursor = core.int64._unflatten_ir(handles, cursor)
            scalars.append(scalar)
        value = BlockPointer(
            base, scalars[:rank], scalars[rank : 2 * rank], scalars[2 * rank :], self.block_shape
        )
        return value, cursor


class BlockPointer(core.base_value):
    """The type of ``make_block_ptr``'s result."""

    def __init__(
        self, base: Any, shape: List, strides: List, offsets: List, block_shape: Tuple[int, ...]
    ):
        self.base = base
        self.shape = core.tuple(shape)
        self.strides = core.tuple(strides)
        self.offsets = core.tuple(offsets)
        self.type = BlockPointerType(base.type, block_shape)

    @property
    def block_shape(self):
        return core.tuple([core.constexpr(extent) for extent in self.type.block_shape])

    @property
    def dtype(self):
        # As in Triton 3.8: p.dtype.element_ty is the type of one element, which libraries cast to before they store.
        return self.base.dtype

    def __str__(self):
        return str(self.type)

    def _set_name(self, builder, name):
        # Base, extents and strides are often the kernel's own arguments, which have names.
        for number, offset in enumerate(self.offsets):
            offset._set_name(builder, f"{name}.offset{number}")

    def _flatten_ir(self, handles):
        self.base._flatten_ir(handles)
        for scalars in (self.shape, self.strides, self.offsets):
            scalars._flatten_ir(handles)

    def advance(self, offsets, _semantic=None):
        semantic = self._semantic(_semantic)
        deltas = _scalars(offsets, "offsets", semantic)
        if len(deltas) != len(self.offsets):
            msg = f"advance needs an offset for each of {len(self.offsets)} dimensions, got {len(deltas)}"
            raise ValueError(msg)
        moved = [semantic.add(offset, delta, False) for offset, delta in zip(self.offsets, deltas)]
        return BlockPointer(
            self.base, self.shape.values, self.strides.values, moved, self.type.block_shape
        )

    advance._must_use_result = UNUSED  # type: ignore[attr-defined]

    def load(
        self,
        mask=None,
        other=None,
        boundary_check=(),
        padding_option="",
        cache_modifier="",
        eviction_policy="",
        volatile=False,
        _semantic=None,
    ):
        semantic = self._semantic(_semantic)
        if not (_plain(mask) is None and _plain(other) is None):
            msg = "mask and other do not go with a block pointer: use boundary_check and padding_option"
            raise ValueError(msg)
        pointers, inside = self._addresses(boundary_check, semantic)
        padding = _padding(padding_option, self.base.dtype.element_ty, semantic)
        return _bare("load")(
            pointers,
            inside,
            None if inside is None else padding,
            cache_modifier=cache_modifier,
            eviction_policy=eviction_policy,
            volatile=volatile,
            _semantic=semantic,
        )

    def store(
        self,
        value,
        mask=None,
        boundary_check=(),
        cache_modifier="",
        eviction_policy="",
        _semantic=None,
    ):
        semantic = self._semantic(_semantic)
        if _plain(mask) is not None:
            msg = "mask does not go with a block pointer: use boundary_check"
            raise ValueError(msg)
        pointers, inside = self._addresses(boundary_check, semantic)
        return _bare("store")(
            pointers,
            value,
            inside,
            cache_modifier=cache_modifier,
            eviction_policy=eviction_policy,
            _semantic=semantic,
        )

    def _addresses(self, boundary_check, semantic) -> Tuple[Any, Optional[Any]]:
        """The pointers of the whole block, and a mask that is false outside of the dimensions to be checked."""
        extents = self.type.block_shape
        checked = _dimensions(boundary_check, len(extents))
        pointers, inside = self.base, None
        for dimension, extent in enumerate(extents):
            # One row for each dimension, to be broadcast as late as possible.
            at = semantic.cast(semantic.arange(0, extent), core.int64)
            for axis in range(len(extents)):
                if axis != dimension:
                    at = semantic.expand_dims(at, axis)
            at = semantic.add(at, self.offsets[dimension], False)
            pointers = semantic.add(
                pointers, semantic.mul(at, self.strides[dimension], False), False
            )
            if dimension in checked:
                row = semantic.and_(
                    semantic.greater_equal(at, semantic.scalar_constant(0, core.int64)),
                    semantic.less_than(at, self.shape[dimension]),
                )
                inside = row if inside is None else semantic.and_(inside, row)
        return pointers, inside

    def _semantic(self, given):
        """The interpreter, unlike the compiler, passes no semantic or builder to a method of a value that it does not
        know."""
        if given is not None:
            return given
        from triton.runtime import interpreter

        if not isinstance(self.base.handle, interpreter.TensorHandle):
            msg = "a block pointer is of use only inside a function decorated with @triton.jit"
            raise ValueError(msg)
        return interpreter.interpreter_semantic


def make(base, shape, strides, offsets, block_shape, order, semantic) -> BlockPointer:
    """``tl.make_block_ptr``."""
    kind = getattr(base, "type", None)
    if not isinstance(kind, core.pointer_type) or kind.element_ty.is_block():
        msg = f"make_block_ptr needs a scalar pointer as its base, not {kind if kind is not None else base!r}"
        raise ValueError(msg)
    extents = tuple(_integers(block_shape, "block_shape"))
    lists = {
        "shape": _scalars(shape, "shape", semantic),
        "strides": _scalars(strides, "strides", semantic),
        "offsets": _scalars(offsets, "offsets", semantic),
        "order": _integers(order, "order"),
    }
    if not extents or any(extent <= 0 for extent in extents):
        msg = f"block_shape must hold a positive integer for each dimension, not {list(extents)}"
        raise ValueError(msg)
    for name, values in lists.items():
        if len(values) != len(extents):
            msg = f"{name} has {len(values)} entries, block_shape {len(extents)}: give one for each dimension"
            raise ValueError(msg)
    if sorted(lists["order"]) != list(range(len(extents))):
        msg = f"order must be a permutation of 0 to {len(extents) - 1}, not {lists['order']}"
        raise ValueError(msg)
    return BlockPointer(base, lists["shape"], lists["strides"], lists["offsets"], extents)


def is_given(values) -> bool:
    """Whether a boundary_check or padding_option asks for anything."""
    values = _plain(values)
    return len(values) > 0 if hasattr(values, "__len__") else values is not None


def is_used(reached: Iterable[Any], makers: tuple) -> bool:
    """Whether what a kernel reaches makes block pointers.

    Args:
        reached: the kernel, the functions that it can call and all that these name, see `code_generator.reachable`.
        makers: make_block_ptr by value, as it may go by another name.
    """
    return any(
        any(item is maker for maker in makers)
        or (isinstance(item, JITCallable) and "make_block_ptr" in item.src)
        for item in reached
    )


# Triton's own functions by name, set by the shim while it is applied.
bare: dict = {}


def _bare(name: str):
    return bare.get(name) or getattr(core, name)


def _plain(value):
    return value.value if isinstance(value, core.constexpr) else value


def _listed(values) -> list:
    values = _plain(values)
    # A scalar tensor has no __iter__; one number stands for a list of one, as it always did.
    return [_plain(v) for v in values] if hasattr(values, "__iter__") else [values]


def _integers(values, name: str) -> List[int]:
    integers = _listed(values)
    if not all(isinstance(value, int) for value in integers):
        msg = f"{name} must hold integers that are known at compile time (tl.constexpr), not {integers}"
        raise ValueError(msg)
    return integers


def _scalars(values, name: str, semantic) -> list:
    """One 64-bit scalar for each value. Fixed here, so that a loop never sees the type change."""
    scalars = []
    for value in _listed(values):
        if isinstance(value, int):
            scalars.append(semantic.scalar_constant(int(value), core.int64))
            continue
        if not isinstance(value, core.tensor) or value.type.is_block() or not value.dtype.is_int():
            msg = f"{name} must hold scalar integers, not {getattr(value, 'type', value)}"
            raise ValueError(msg)
        scalars.append(semantic.cast(value, core.int64))
    return scalars


def _dimensions(boundary_check, rank: int) -> List[int]:
    if not is_given(boundary_check):
        return []
    dimensions = _integers(boundary_check, "boundary_check")
    if not all(0 <= dimension < rank for dimension in dimensions):
        msg = f"boundary_check must hold dimensions from 0 to {rank - 1}, not {dimensions}"
        raise ValueError(msg)
    if len(dimensions) != len(set(dimensions)):
        msg = f"boundary_check names a dimension twice: {dimensions}"
        raise ValueError(msg)
    return dimensions


def _padding(option, element, semantic):
    """The value that a load gives out of bounds, or None where that was left open."""
    option = _plain(option)
    if not option:
        return None
    if option not in ("zero", "nan"):
        msg = f"padding_option={option!r} is not known: use '', 'zero' or 'nan'"
        raise ValueError(msg)
    if option == "nan" and not element.is_floating():
        msg = f"padding_option='nan' needs a block of floats, not of {element}"
        raise ValueError(msg)
    # As bits: the interpreter rounds NaN to an 8-bit zero, and not every GPU converts to every 8-bit type.
    if element.is_fp8() and (option == "zero" or element.name in NAN_BITS):
        bits = NAN_BITS[element.name] if option == "nan" else 0
        return semantic.bitcast(semantic.scalar_constant(bits, core.int8), element)
    return semantic.scalar_constant(float("nan") if option == "nan" else 0, element)


# fp8e4b15 has none.
NAN_BITS = {"fp8e4nv": 0x7F, "fp8e5": 0x7F, "fp8e4b8": -0x80, "fp8e5b16": -0x80}
