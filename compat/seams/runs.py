"""Binding of a launch, only for kernels with a parameter that Triton would bind wrongly.

Such a kernel gets its ``run``. ``JITFunction.run`` stays Triton's: a replacement would slow down every launch of every
kernel. Existing kernels and configurations are searched for at the first launch, which takes long anyway; until then a
function of ours stands there.
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
            # This Triton lacks an attribute to replace: the fix is left out, without a trace.
            _runs.use(before)
            raise
    patches.on_undo(functools.partial(_forget, entry))


def before_first_launch(
    patches: Patches, kinds: Tuple[type, ...], fix: Callable[[List[Any]], None]
) -> None:
    """Call the function with the existing objects, once, before the next launch; never after `patches` were undone.

    It gets every existing kernel, and every object of exactly these `kinds`. The search takes as long as the rest of
    installing, and in most processes finds none. If the function fails the fix is left out.
    """
    entry = (patches, kinds, fix)
    with _lock:
        _runs.stand_before_launches()
        _runs.waiting.append(entry)
    patches.on_undo(functools.partial(_wait_no_more, entry))


def _forget(entry: Any) -> None:
    with _lock:
        _runs.use([handler for handler in _runs.handlers if handler is not entry])


def _wait_no_more(entry: Any) -> None:
    with _lock:
        _runs.waiting = [other for other in _runs.waiting if other is not entry]
        _runs.stand_aside()


class _Runs:
    def __init__(self) -> None:
        self.handlers: List[Tuple[Patches, FrozenSet[str], Handler]] = []
        self.waiting: List[Tuple[Patches, Tuple[type, ...], Callable[[List[Any]], None]]] = []
        self._names: FrozenSet[str] = frozenset()
        # Whether existing kernels are still to be searched for.
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
            self._made.undo()
            for kernel in list(self._kernels):
                kernel.__dict__.pop("run", None)
            self._kernels.clear()
            self.stand_aside()
            return
        if not had:
            self._made = Patches()
            around(self._made, JITFunction, "__init__", self._init)
        if new:
            self.stand_before_launches()

    def stand_before_launches(self) -> None:
        from triton.runtime.autotuner import Autotuner
        from triton.runtime.jit import JITFunction

        if self._waits:
            return
        # An autotuner reads its configurations before it launches.
        owners = [(owner, vars(owner)["run"]) for owner in (JITFunction, Autotuner)]
        self._waits = True
        self._on_class = Patches()
        for owner, own in owners:
            self._on_class.set(owner, "run", self._looking_first(own))

    def stand_aside(self) -> None:
        if self._waits and not self.handlers and not self.waiting:
            self._waits = False
            self._on_class.undo()

    def _looking_first(self, own: Callable[..., Any]) -> Callable[..., Any]:
        def run(launched: Any, *args: Any, **kwargs: Any) -> Any:
            # Not by its `__dict__`: reading that slows down every attribute access of the kernel.
            if self.look() and launched in self._kernels:
                return launched.__dict__["run"](*args, **kwargs)
            # Even if somebody has put a function around ours, which stays below it.
            return own(launched, *args, **kwargs)

        return run

    def _init(self, own: Callable[..., Any], kernel: Any, *args: Any, **kwargs: Any) -> None:
        own(kernel, *args, **kwargs)
        self._look_at(kernel)

    def _look_at(self, kernel: Any) -> None:
        if not self._names.isdisjoint(kernel.arg_names):
            kernel.__dict__["run"] = functools.partial(_run, kernel)
            self._kernels.add(kernel)

    def look(self) -> bool:
        """Find existing objects, and give concerned kernels their ``run``; returns whether this is the first look."""
        with _lock:
            if not self._waits:
                return False
            from triton.runtime.jit import JITFunction

            self._waits = False
            waiting, self.waiting = self.waiting, []
            kinds = [kind for _, kinds, _ in waiting for kind in kinds]
            # The heap is walked only once for all of them.
            objects = existing(JITFunction, *JITFunction.__subclasses__(), *kinds)
            for each in objects:
                if isinstance(each, JITFunction):
                    self._look_at(each)
            for patches, _, fix in waiting:
                patches.attempt(fix, objects)
            self._on_class.undo()
            return True


_runs = _Runs()


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
        if not any(made is kernel for kernel in call.made):
            raise TypeError(f"{made!r:.80} in place of what a launch returns")

    return call.attempt(patches, launch, fits, args, kwargs)
