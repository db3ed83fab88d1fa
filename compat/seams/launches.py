"""Where a launch, or torch, calls Triton's compiler; and how a launch is bound."""

import functools
import threading
from typing import Any, Callable, FrozenSet, List, Tuple

from ..features import has_binder
from ..record import Patches
from ..scopes import in_scope
from .attribute import Call, around
from .pipeline import compiled

# around(compile, src, args, kwargs) -> the compiled kernel, in place of compile(src, *args, **kwargs).
Around = Callable[[Callable[..., Any], Any, Tuple[Any, ...], Any], Any]

_lock = threading.RLock()


def around_compile(patches: Patches, handler: Around) -> None:
    """Call `handler` wherever a launch calls the compiler. Only a launch that found no kernel in memory gets there.

    Where the handler of a fix raises by itself, or returns what no compiler made, the kernel is compiled without it.
    """
    open_for(patches)
    entry = (patches, handler)
    with _lock:
        _launches.handlers = [*_launches.handlers, entry]
    patches.on_undo(functools.partial(_forget, entry))


def _forget(entry: Tuple[Patches, Around]) -> None:
    with _lock:
        _launches.handlers = [one for one in _launches.handlers if one is not entry]


def open_for(patches: Patches) -> None:
    """Have compilations come by `pipeline.compiled`, as long as `patches` are in place."""
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
        # Nobody's fix: a guard by itself, which raises what it has to say.
        return handler(own, src, args, kwargs)
    if not in_scope(patches.fix, getattr(src, "fn", src)):
        return own(src, *args, **kwargs)
    call = Call(own)

    def as_seen(compile_: Any, src: Any, *args: Any, **kwargs: Any) -> Any:
        return handler(compile_, src, args, kwargs)

    def fits(kernel: Any) -> None:
        if not any(kernel is one for one in call.made):
            raise TypeError(f"a kernel that no compiler made: {kernel!r:.80}")

    return call.attempt(patches, as_seen, fits, (src, *args), kwargs)


def around_run(patches: Patches, names: FrozenSet[str], handler: Callable[..., Any]) -> None:
    """Call ``handler(run, kernel, args, kwargs)`` for the launches of kernels that declare a parameter in `names`.

    The others pay for one look at their parameters, and not for a call that passes all arguments on.
    """
    from triton.runtime.jit import JITFunction

    entry = (patches, names, handler)
    with _lock:
        if not _runs.handlers:
            _runs.own = vars(JITFunction)["run"]
            _runs.patches = Patches()
            _runs.patches.set(JITFunction, "run", _runs)
        _runs.use([*_runs.handlers, entry])
    patches.on_undo(functools.partial(_forget_run, entry))


def _forget_run(entry: Any) -> None:
    with _lock:
        _runs.use([one for one in _runs.handlers if one is not entry])
        if not _runs.handlers:
            _runs.patches.undo()


# In a kernel: the names of which it declares none.
_NOT_CONCERNED = "_crosswarp_not_concerned"


class _Runs:
    """``JITFunction.run`` as a descriptor: which function it is depends on the kernel."""

    def __init__(self) -> None:
        self.own: Any = None
        self.patches = Patches()
        self.use([])

    def use(self, handlers: List[Any]) -> None:
        self.handlers = handlers
        self._names: FrozenSet[str] = frozenset().union(*(names for _, names, _ in handlers))

    def __get__(self, kernel: Any, owner: Any = None) -> Any:
        if kernel is None:
            # For somebody who wraps it as a function of the class.
            return functools.wraps(self.own)(
                lambda kernel, *args, **kwargs: self.__get__(kernel)(*args, **kwargs)
            )
        run = self.own.__get__(kernel, owner)
        # Every launch comes by, and to look at the parameters takes microseconds.
        if kernel.__dict__.get(_NOT_CONCERNED) is self._names:
            return run
        if self._names.isdisjoint(kernel.arg_names):
            kernel.__dict__[_NOT_CONCERNED] = self._names
            return run
        for patches, names, handler in self.handlers:
            if not names.isdisjoint(kernel.arg_names):
                run = functools.partial(_run, patches, handler, kernel, run)
        return run


_runs = _Runs()


def _run(patches: Patches, handler: Any, kernel: Any, own: Any, *args: Any, **kwargs: Any) -> Any:
    call = Call(own)

    def launch(run: Any, *args: Any, **kwargs: Any) -> Any:
        return handler(run, kernel, args, kwargs)

    def fits(made: Any) -> None:
        if not any(made is one for one in call.made):
            raise TypeError(f"{made!r:.80} in place of what a launch returns")

    return call.attempt(patches, launch, fits, args, kwargs)
