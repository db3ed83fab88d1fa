"""How a launch is bound, for the kernels alone that have a parameter which Triton would bind wrong.

Such a kernel has its own ``run``. ``JITFunction.run`` stays Triton's: a replacement would cost every launch of every
kernel. Kernels that were made before are looked for at the first launch, which takes long anyway, and until
then a function of ours stands there.
"""

from __future__ import annotations

import functools
import threading
import weakref
from typing import Any, Callable, FrozenSet, List, Tuple

from ..launch import existing
from ..record import Patches
from .attribute import Call, around

# handler(run, kernel, args, kwargs) -> what run(*args, **kwargs) returns.
Handler = Callable[..., Any]

_lock = threading.RLock()


def around_run(patches: Patches, names: FrozenSet[str], handler: Handler) -> None:
    """Call ``handler(run, kernel, args, kwargs)`` for the launches of kernels that declare a parameter in `names`."""
    entry = (patches, names, handler)
    with _lock:
        before = _runs.handlers
        try:
            _runs.use([*before, entry])
        except BaseException:
            # This Triton lacks what is replaced: the fix is left out, and nothing of it stays.
            _runs.use(before)
            raise
    patches.on_undo(functools.partial(_forget, entry))


def _forget(entry: Any) -> None:
    with _lock:
        _runs.use([one for one in _runs.handlers if one is not entry])


class _Runs:
    def __init__(self) -> None:
        self.handlers: List[Tuple[Patches, FrozenSet[str], Handler]] = []
        self._names: FrozenSet[str] = frozenset()
        self._own: Any = None
        # Whether nobody has looked yet for the kernels that were made before.
        self._waits = False
        self._on_class = Patches()
        self._made = Patches()
        self._kernels: "weakref.WeakSet[Any]" = weakref.WeakSet()

    def use(self, handlers: List[Tuple[Patches, FrozenSet[str], Handler]]) -> None:
        from triton.runtime.jit import JITFunction

        had, self.handlers = self.handlers, handlers
        names: FrozenSet[str] = frozenset().union(*(names for _, names, _ in handlers))
        new, self._names = names - self._names, names
        if not handlers:
            self._stop()
            return
        if not had:
            self._made = Patches()
            around(self._made, JITFunction, "__init__", self._init)
        if new and not self._waits:
            self._waits = True
            if vars(JITFunction)["run"] is not _first:
                self._own = vars(JITFunction)["run"]
                self._on_class = Patches()
                self._on_class.set(JITFunction, "run", _first)

    def _stop(self) -> None:
        self._waits = False
        self._on_class.undo()
        self._made.undo()
        for kernel in list(self._kernels):
            kernel.__dict__.pop("run", None)
        self._kernels.clear()

    def _init(self, own: Callable[..., Any], kernel: Any, *args: Any, **kwargs: Any) -> None:
        own(kernel, *args, **kwargs)
        self._look_at(kernel)

    def _look_at(self, kernel: Any) -> None:
        if not self._names.isdisjoint(kernel.arg_names):
            kernel.__dict__["run"] = functools.partial(_run, kernel)
            self._kernels.add(kernel)

    def look(self) -> bool:
        """Give a ``run`` of their own to the kernels that were made before; whether this is the first look."""
        with _lock:
            if not self._waits:
                return False
            from triton.runtime.jit import JITFunction

            self._waits = False
            for kernel in existing(JITFunction, *JITFunction.__subclasses__()):
                self._look_at(kernel)
            self._on_class.undo()
            return True

    def first(self, kernel: Any) -> Any:
        # Not by its `__dict__`: to look into that slows down every attribute of it.
        if self.look() and kernel in self._kernels:
            return kernel.__dict__["run"]
        # Also where somebody has put a function around ours, which stays below it.
        return functools.partial(self._own, kernel)


_runs = _Runs()


def _first(kernel: Any, *args: Any, **kwargs: Any) -> Any:
    return _runs.first(kernel)(*args, **kwargs)


def _run(kernel: Any, *args: Any, **kwargs: Any) -> Any:
    """A launch of a kernel that handlers concern. A ``JITFunction.run`` that somebody has replaced is called too."""
    _runs.look()
    run: Callable[..., Any] = functools.partial(type(kernel).run, kernel)
    for patches, names, handler in _runs.handlers:
        if not names.isdisjoint(kernel.arg_names):
            run = functools.partial(_handled, patches, handler, kernel, run)
    return run(*args, **kwargs)


def _handled(
    patches: Patches, handler: Handler, kernel: Any, own: Any, *args: Any, **kwargs: Any
) -> Any:
    call = Call(own)

    def launch(run: Any, *args: Any, **kwargs: Any) -> Any:
        return handler(run, kernel, args, kwargs)

    def fits(made: Any) -> None:
        if not any(made is one for one in call.made):
            raise TypeError(f"{made!r:.80} in place of what a launch returns")

    return call.attempt(patches, launch, fits, args, kwargs)
