"""Which kernels are in Triton's own language. The others are left alone."""

from types import ModuleType
from typing import Any

from ..vendors import as_tritons

# Meta's dialect, in which a kernel is written as one of Triton's.
_TLX = "triton.language.extra.tlx"


def is_tritons_own(source: Any) -> bool:
    """Whether it is a kernel in Triton's own language: not Gluon's or TLX, and no IR as text."""
    kind = type(source)
    module = as_tritons(kind.__module__)
    if kind.__name__ != "ASTSource" or not module.startswith("triton.compiler"):
        return False
    function = getattr(source.fn, "fn", None)
    scope, code = getattr(function, "__globals__", {}), getattr(function, "__code__", None)
    named = (scope.get(name) for name in getattr(code, "co_names", ()))
    return not any(_is_of_tlx(value) for value in named)


def _is_of_tlx(value: Any) -> bool:
    attributes = vars(value) if isinstance(value, ModuleType) else {}
    name = attributes.get("__name__") or getattr(value, "__module__", None)
    return isinstance(name, str) and (as_tritons(name) + ".").startswith(_TLX + ".")
