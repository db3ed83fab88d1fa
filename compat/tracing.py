"""Functions of ours that Triton's code generator takes for its builtins, on every version.

A builtin is called while a kernel is traced. Triton recognises it by a mark and by its module's name, and passes the
builder as ``_builder`` (up to 3.3) or ``_semantic`` (since 3.4).
"""

import os
from typing import Any, Callable, Iterable, Optional

from . import features
from .vendors import as_loaded, as_tritons

# The mark that `triton.language.core.builtin` sets. Spelled out, to read a file of builtins without Triton.
MARK = "__triton_builtin__"


def builtin(function: Callable) -> Callable:
    """Mark `function`, which takes ``_builder``, ``_semantic`` or ``_generator``, as a builtin of Triton."""
    # The hash of a kernel's dependencies refuses functions from elsewhere that are not @triton.jit.
    function.__module__ = as_loaded("triton.language.core")
    setattr(function, MARK, True)
    return function


def method_of(function: Callable) -> Callable:
    """`function` of triton.language as a method of its first argument, a tensor; a @triton.jit function stays one."""
    from triton.runtime.jit import JITFunction

    if not isinstance(function, JITFunction):
        return function

    def method(self, *args, _builder=None, _generator=None, **kwargs):
        return _generator.call_JitFunction(function, [self, *args], kwargs)

    method.__name__ = function.__name__
    return builtin(method)


def value(item: Any) -> Any:
    """The value that a constexpr holds; anything else as it is. Some of Triton's own versions look only one level
    deep."""
    while type(item).__name__ == "constexpr":
        item = item.value
    return item


def values(items: Any) -> list:
    """The plain values of a tuple, list or constexpr of either."""
    return [value(item) for item in value(items)]


def shape_of(given: Iterable) -> list:
    """Sizes or dimensions that were given one by one or as one tuple: ``(2, 3)`` and ``((2, 3),)``."""
    given = [value(item) for item in given]
    if len(given) == 1 and isinstance(given[0], (tuple, list)):
        return values(given[0])
    return given


def handed_on(_builder: Any = None, _semantic: Any = None) -> dict:
    """The hidden keyword to pass on to a builtin of this Triton's own; in the interpreter, its own builder.

    A function of ours that a kernel imported by name gets neither keyword in the interpreter, which patches what it
    finds in ``triton.language`` and nothing else.
    """
    if _semantic is not None:
        return {"_semantic": _semantic}
    if _builder is not None:
        return {"_builder": _builder}
    interpreter = _interpreter()
    if interpreter is None:
        msg = "called outside of a kernel: it can only be used inside a function decorated with @triton.jit"
        raise ValueError(msg)
    return features.hidden_keyword(interpreter)


def backend_of(hidden: dict) -> str:
    """``cuda``, ``hip`` or ``interpreter``, from what `handed_on` returned."""
    builder = hidden.get("_builder") or hidden["_semantic"].builder
    # Breakpoint: the interpreter of Triton 2.3 calls its builder by another name.
    if as_tritons(type(builder).__module__) == "triton.runtime.interpreter":
        return "interpreter"
    # Breakpoint: the options of Triton 2.3 name no backend; it has only one.
    return getattr(builder.options, "backend_name", "cuda")


def interpreting() -> bool:
    """Whether Triton interprets kernels in this process."""
    return os.environ.get("TRITON_INTERPRET", "0") in ("1", "true", "on")


def _interpreter() -> Optional[Any]:
    if not interpreting():
        return None
    import triton.runtime.interpreter as interpreter

    return interpreter
