"""Tracing of a kernel: Triton's code generator, and preparations before its first use."""

from __future__ import annotations

import threading
from typing import Any, Callable, List, Tuple

from ..record import Patches
from .attribute import around
from .compilation import Traced, now

_lock = threading.RLock()
_waiting: List[Tuple[Patches, Callable[[Any], None]]] = []


def open_for(patches: Patches) -> None:
    """Have each compilation know that its kernel is traced."""
    from triton.compiler.compiler import ASTSource

    around(patches, ASTSource, "make_ir", _make_ir)


def before_first_trace(patches: Patches, fix: Callable[[Any], None]) -> None:
    """Call the function with ``CodeGenerator``, once, before the first trace; never after `patches` were undone.

    Triton imports its code generator when it first compiles, which takes long. If the function fails, the fix is taken
    back and left out, and Triton traces the kernel as usual.
    """
    entry = (patches, fix)
    with _lock:
        _waiting.append(entry)
    patches.on_undo(lambda: _forget(entry))
    open_for(patches)


def _forget(entry: Tuple[Patches, Callable[[Any], None]]) -> None:
    with _lock:
        _waiting[:] = [other for other in _waiting if other is not entry]


def _make_ir(own: Callable[..., Any], source: Any, *args: Any, **kwargs: Any) -> Any:
    if _waiting:
        _make_ready()
    compilation = now()
    if compilation is None:
        return own(source, *args, **kwargs)
    compilation.traced = True
    made = own(source, *args, **kwargs)
    if compilation.looking:
        raise Traced
    compilation.check_key()
    return made


def _make_ready() -> None:
    with _lock:
        for entry in list(_waiting):
            _forget(entry)
            patches, fix = entry

            def fix_it(fix: Callable[[Any], None] = fix) -> None:
                from triton.compiler.code_generator import CodeGenerator

                fix(CodeGenerator)

            patches.attempt(fix_it)
