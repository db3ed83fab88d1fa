"""A number of Python's makes an int8 tensor an int32 one up to Triton 3.1, where it is int8 in PyTorch and from 3.2 on.

``x + 1`` of an int8 ``x`` is 128 for 127 there, and -128 later; int16, uint8 and uint16 likewise. Here the number gets
the tensor's type wherever it fits: in operators, on either side, and in `tl.where`. A number that does not fit
(300 beside int8, -1 beside uint8) stays int32: from 3.3 on it is refused, and nothing that ran shall be. What is loaded
from a pointer to bool is int8 on these releases and bool later: a number makes an int32 of it, as later.
`tl.minimum` and `tl.maximum` are left alone: they give int32 on 3.2 as well.

Cost: none, but for fewer conversions. Kernels with such a parameter, or whose source names such a type, are compiled
once more, under a separate key; every other keeps the key of bare Triton.
"""

from __future__ import annotations

import functools
from typing import Any, Callable, Iterable

from ..acts import note_acted
from ..patterns import lazily
from ..record import Concerned, Patches, Shim
from ..tracing import builtin, value

# The methods that the code generator calls for operators, with `r` before it where the number stands on the left.
_OPERATORS = (
    *("add", "sub", "mul", "truediv", "floordiv", "mod"),
    *("and", "or", "xor", "lshift", "rshift"),
    *("gt", "ge", "lt", "le", "eq", "ne"),
)
_SMALL = 32
_NAMED = lazily(r"\bu?int(8|16)\b")
_PARAMETER = lazily(r"[iu](8|16)\b")


def apply(patches: Patches) -> None:
    # Breakpoint: Triton 3.2 gives a number the type of the tensor beside it.
    import triton.language as tl
    from triton.language import core, semantic

    # An int8 distinguished only by its identity: shapes and loops pass on a tensor's type.
    bool_ = core.dtype("int8")

    def of_its_type(tensor: Any, number: Any, builder: Any) -> Any:
        """`number` in the type of `tensor`, or unchanged where the shim does not apply."""
        plain = value(number)
        if type(plain) is not int or not isinstance(tensor, core.tensor):
            return number
        kind = tensor.type.scalar
        if not kind.is_int() or kind.is_int1() or kind.int_bitwidth >= _SMALL or kind is bool_:
            return number
        if plain not in _values(kind):
            return number
        note_acted(SHIM.name)
        wide = core._to_tensor(plain, builder)
        # Breakpoint: the interpreter of Triton 2.3 has no names for integers' types, which `cast` asks for.
        if hasattr(builder, "cast_impl"):
            return core.tensor(builder.cast_impl(wide.handle, kind), kind)
        return semantic.cast(wide, kind, builder)

    def operator(method: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(method)
        def operate(self: Any, other: Any, _builder: Any = None) -> Any:
            return method(self, of_its_type(self, other, _builder), _builder=_builder)

        return builtin(operate)

    where = core.where

    @functools.wraps(where)
    def where_of_one_type(condition: Any, x: Any, y: Any, _builder: Any = None) -> Any:
        x, y = of_its_type(y, x, _builder), of_its_type(x, y, _builder)
        return where(condition, x, y, _builder=_builder)

    load = semantic.load

    @functools.wraps(load)
    def load_known_as_bool(pointer: Any, *args: Any, **kwargs: Any) -> Any:
        loaded = load(pointer, *args, **kwargs)
        scalar = pointer.type.scalar
        if scalar.is_ptr() and scalar.element_ty == core.int1:
            shape = loaded.type.shape if loaded.type.is_block() else None
            loaded = core.tensor(loaded.handle, core.block_type(bool_, shape) if shape else bool_)
        return loaded

    for name in _OPERATORS:
        for method in (f"__{name}__", f"__r{name}__"):
            patches.set(core.tensor, method, operator(getattr(core.tensor, method)))
    for module in (core, tl):
        patches.set(module, "where", builtin(where_of_one_type))
    patches.set(semantic, "load", load_known_as_bool)


def _values(kind: Any) -> range:
    """The range of an integer of the type."""
    count = 2**kind.int_bitwidth
    return range(-count // 2, count // 2) if kind.is_int_signed() else range(count)


def _names_small_integers(reached: Iterable[Any]) -> bool:
    """Whether a kernel makes such integers itself: its source says so, or it is given their type."""
    for item in reached:
        source = getattr(item, "src", None)
        # A type is also found under its name, wherever it comes from.
        text = source if isinstance(source, str) else str(getattr(item, "name", ""))
        if _NAMED.search(text):
            return True
    return False


SHIM = Shim(
    name="small_integer_literal",
    issue="triton-4613",
    tier="silent",
    window="<3.2",
    symptom="wrong numbers from an int8 or int16 tensor and a number: x + 1 is int32 and does not wrap around",
    link="https://github.com/triton-lang/triton/pull/4613",
    delete_when="no column before Triton 3.2 is left",
    apply=apply,
    revision=1,
    concerns=Concerned(_names_small_integers, _PARAMETER),
)
