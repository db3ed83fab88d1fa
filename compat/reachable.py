"""All that a kernel reaches: the functions it may call and the values it reads, by the names in its source."""

from __future__ import annotations

import re
from types import CodeType, ModuleType
from typing import Any, Callable, Dict, Iterable, Iterator, List, Set, Tuple


def source_says(words: "re.Pattern[str]") -> Callable[[Iterable[Any]], bool]:
    """For `Concerned`: a fix concerns kernels with one of `words` in the source of anything that they reach."""

    def concerns(reached: Iterable[Any]) -> bool:
        sources = (getattr(item, "src", None) for item in reached)
        return any(isinstance(source, str) and words.search(source) for source in sources)

    return concerns


def reachable(values: Iterable[Any]) -> Iterator[Any]:
    """The kernel among `values`, the functions it may call, and everything else that these name, each once.

    Args:
        values: the kernel, and its compile-time arguments, which may be functions.
    """
    from triton.language.core import constexpr
    from triton.runtime import jit

    # Breakpoint: Triton 3.5 uses this name for the base of kernels and of functions that the compiler evaluates.
    callable_ = getattr(jit, "JITCallable", jit.JITFunction)
    seen: Set[Any] = set()
    left: List[Tuple[Any, Tuple[str, ...]]] = [(value, ()) for value in values]
    while left:
        item, names = left.pop()
        if isinstance(item, constexpr):
            item = item.value
        # Of a module only those names that the function looks up in it.
        inside = isinstance(item, ModuleType)
        key = (id(item), names) if inside else id(item)
        if key in seen:
            continue
        seen.add(key)
        if inside:
            left += [(vars(item)[name], names) for name in names if name in vars(item)]
            continue
        yield item
        function = getattr(item, "fn", None) if isinstance(item, callable_) else None
        if function is not None:
            names, scope = names_of(function.__code__), scope_of(item)
            left += [(scope[name], names) for name in names if name in scope]
            given = (function.__defaults__, *(function.__kwdefaults__ or {}).values())
            left += [(value, names) for value in given]
        elif isinstance(item, (list, tuple)):
            left += [(value, names) for value in item]
        elif isinstance(item, type) and getattr(item, "__triton_aggregate__", False):
            left += [(value, names) for value in vars(item).values()]


def scope_of(item: Any) -> Dict[str, Any]:
    """The values that the names in a kernel stand for."""
    # Breakpoint: before Triton 3.4 a kernel sees the globals of its module alone (but see closure_names).
    if hasattr(item, "get_capture_scope"):
        return item.get_capture_scope()
    return getattr(getattr(item, "fn", None), "__globals__", {})


def names_of(code: CodeType) -> Tuple[str, ...]:
    """The names that a function and the comprehensions in it look up."""
    inner = [const for const in code.co_consts if isinstance(const, CodeType)]
    return code.co_names + code.co_freevars + sum(map(names_of, inner), ())
