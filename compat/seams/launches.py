"""Where a launch, or torch, calls Triton's compiler."""

from __future__ import annotations

import functools
import threading
from typing import Any, Callable, List, Tuple

from ..features import has_binder
from ..record import Patches, Shim
from ..scopes import in_scope
from . import key
from .attribute import Call, around
from .compilation import wait

# around(compile, src, args, kwargs) -> the compiled kernel, in place of compile(src, *args, **kwargs).
Around = Callable[[Callable[..., Any], Any, Tuple[Any, ...], Any], Any]

_lock = threading.RLock()


def around_compile(patches: Patches, handler: Around) -> None:
    """Call `handler` wherever a launch calls the compiler. Only a launch that found no kernel in memory does so.

    If the handler of a fix itself raises, or returns no compiled kernel, the kernel is compiled without it.
    """
    open_for(patches)
    entry = (patches, handler)
    with _lock:
        _launches.handlers = [*_launches.handlers, entry]
    patches.on_undo(functools.partial(_forget, entry))


def _forget(entry: Tuple[Patches, Around]) -> None:
    with _lock:
        _launches.handlers = [handler for handler in _launches.handlers if handler is not entry]


def before_first_compilation(patches: Patches, find: Callable[[], Shim]) -> None:
    """Have the fix that `find` returns asked about every kernel that it concerns, as long as `patches` are in place."""
    key.open_for(patches)
    open_for(patches)

    def place() -> None:
        from . import pipeline

        pipeline.open_for(find(), patches)

    wait(patches, place)


def open_for(patches: Patches) -> None:
    """Have compilations pass `pipeline.compiled`, as long as `patches` are in place."""
    import triton
    import triton.compiler
    from triton.runtime.jit import JITFunction

    if has_binder():
        with _lock:
            if not _launches.users:
                _launches.below = vars(JITFunction).get("compile")
                _launches.patches = Patches()
                _launches.patches.set(JITFunction, "compile", _launches)
            _launches.users += 1
        patches.on_undo(_close)
    else:
        around(patches, triton.compiler, "compile", _by_launch)
    around(patches, triton, "compile", _directly)


def _close() -> None:
    with _lock:
        _launches.users -= 1
        if not _launches.users:
            _launches.patches.undo()


class _Launches:
    """``JITFunction.compile`` as a data descriptor: it covers kernels that were bound before it came."""

    def __init__(self) -> None:
        self.handlers: List[Tuple[Patches, Around]] = []
        self.below: Any = None
        self.patches = Patches()
        self.users = 0

    def __get__(self, kernel: Any, owner: Any = None) -> Any:
        if kernel is None:
            return self
        if self.below is not None:
            compile_ = self.below.__get__(kernel, owner)
        else:
            try:
                compile_ = kernel.__dict__["compile"]
            except KeyError:
                raise AttributeError("compile") from None
        return functools.wraps(compile_)(functools.partial(_by_launch, compile_))

    def __set__(self, kernel: Any, value: Any) -> None:
        kernel.__dict__["compile"] = value


_launches = _Launches()


def _directly(own: Callable[..., Any], src: Any, *args: Any, **kwargs: Any) -> Any:
    # Here and above: a process that installs may never compile.
    from .pipeline import compiled

    return compiled(own, src, args, kwargs)


def _by_launch(own: Callable[..., Any], src: Any, *args: Any, **kwargs: Any) -> Any:
    compile_ = functools.partial(_directly, own)
    for patches, handler in _launches.handlers:
        compile_ = functools.partial(_guarded, patches, handler, compile_)
    return compile_(src, *args, **kwargs)


def _guarded(
    patches: Patches, handler: Around, own: Callable[..., Any], src: Any, *args: Any, **kwargs: Any
) -> Any:
    if not patches.fix:
        # A guard without a fix, whose exceptions are meant for the caller.
        return handler(own, src, args, kwargs)
    if not in_scope(patches.fix, getattr(src, "fn", src)):
        return own(src, *args, **kwargs)
    call = Call(own)

    def as_seen(compile_: Any, src: Any, *args: Any, **kwargs: Any) -> Any:
        return handler(compile_, src, args, kwargs)

    def fits(kernel: Any) -> None:
        if not any(kernel is made for made in call.made):
            raise TypeError(f"a kernel that no compiler made: {kernel!r:.80}")

    return call.attempt(patches, as_seen, fits, (src, *args), kwargs)
