"""Patches to Triton's code generator: made when Triton first compiles, because it takes long to import.

Triton's key for a compiled kernel covers its own sources and the kernel's. Where a shim compiles a kernel to something
else, the shim is part of the compiler, and `key_with_revision` part of the key.
"""

import hashlib
import re
import threading
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, Callable, Dict, Iterable, Iterator, List, Set, Tuple

from .record import Patches


def before_first_trace(patches: Patches, heal: Callable[[Any], None]) -> None:
    """Call ``heal(CodeGenerator)``, once, before the first kernel is traced; never after `patches` were undone.

    Where that fails the shim is taken back and left out, and the kernel is traced as Triton does it.
    """
    from triton.compiler.compiler import ASTSource

    make_ir, lock = ASTSource.make_ir, threading.Lock()
    done: List[bool] = []
    # Uninstalling leaves the wrapper in place if another has wrapped it since.
    patches.on_undo(lambda: done.append(True))

    def heal_it():
        from triton.compiler.code_generator import CodeGenerator

        heal(CodeGenerator)

    def make_ir_healed(self, *args, **kwargs):
        with lock:
            if not done:
                patches.attempt(heal_it)
                done.append(True)
        return make_ir(self, *args, **kwargs)

    patches.set(ASTSource, "make_ir", make_ir_healed)


def key_with_revision(
    patches: Patches, concerns: Callable[[Iterable[Any]], bool], revision: Callable[[], str]
) -> None:
    """Keep what is compiled from now on apart from what Triton compiles by itself.

    Args:
        patches: to be undone with the rest of the shim.
        concerns: whether the shim may change what the kernel becomes; gets all that `reachable` finds. Nothing is
            traced yet, so in doubt the answer is yes: a kernel in vain is compiled once more, one missed is wrong.
        revision: identifies what the shim does.
    """
    from triton.compiler.compiler import ASTSource

    own_hash = ASTSource.hash

    def hash_with_revision(self):
        key = own_hash(self)
        if not concerns(reachable([self.fn, *self.constants.values()])):
            return key
        return hashlib.sha256(f"{key} {revision()}".encode()).hexdigest()

    patches.set(ASTSource, "hash", hash_with_revision)


def source_says(words: "re.Pattern[str]") -> Callable[[Iterable[Any]], bool]:
    """For `key_with_revision`: a shim concerns what has `words` somewhere in the source of all that it reaches."""

    def concerns(reached: Iterable[Any]) -> bool:
        sources = (getattr(item, "src", None) for item in reached)
        return any(isinstance(source, str) and words.search(source) for source in sources)

    return concerns


def revision_of(file: str) -> str:
    """Identifies this file: what is compiled with it is good for as long as it stays as it is."""
    return hashlib.sha256(Path(file).read_bytes()).hexdigest()


def reachable(values: Iterable[Any]) -> Iterator[Any]:
    """The kernel among `values`, what it may call, and everything else that these name, each once.

    Args:
        values: the kernel, and what it is given at compile time, which may be functions.
    """
    from triton.language.core import constexpr
    from triton.runtime import jit

    # Breakpoint: Triton 3.5 calls by this name what a kernel and a function evaluated by the compiler have in common.
    callable_ = getattr(jit, "JITCallable", jit.JITFunction)
    seen: Set[Any] = set()
    left: List[Tuple[Any, Tuple[str, ...]]] = [(value, ()) for value in values]
    while left:
        item, names = left.pop()
        if isinstance(item, constexpr):
            item = item.value
        # Of a module only what the function that names it may look up there.
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
            names, scope = _names(function.__code__), _scope(item, function)
            left += [(scope[name], names) for name in names if name in scope]
            given = (function.__defaults__, *(function.__kwdefaults__ or {}).values())
            left += [(value, names) for value in given]
        elif isinstance(item, (list, tuple)):
            left += [(value, names) for value in item]
        elif isinstance(item, type) and getattr(item, "__triton_aggregate__", False):
            left += [(value, names) for value in vars(item).values()]


def _scope(item: Any, function: Any) -> Dict[str, Any]:
    """What the names in a kernel stand for."""
    # Breakpoint: before Triton 3.5 a kernel sees the globals of its module alone.
    if hasattr(item, "get_capture_scope"):
        return item.get_capture_scope()
    return function.__globals__


def _names(code: CodeType) -> Tuple[str, ...]:
    """What a function and the comprehensions in it look up."""
    inner = [const for const in code.co_consts if isinstance(const, CodeType)]
    return code.co_names + code.co_freevars + sum(map(_names, inner), ())
