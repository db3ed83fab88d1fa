"""One attribute of Triton, replaced once for all users, by a function with its name and parameters."""

from __future__ import annotations

import functools
import threading
from typing import Any, Callable, Dict, List, Tuple

from ..errors import CompatError
from ..record import Patches
from .compilation import concerns_now, failed_while_tracing

# handler(own, *args, **kwargs): `own` is the next handler, finally Triton's own function.
Handler = Callable[..., Any]

_lock = threading.RLock()


class Seam:
    """The replacement of ``owner.name``: a chain of handlers around Triton's own function.

    The first handler puts it in place, and the last to go puts the original back. If another's patch lies on it, it
    stays and calls Triton's own function.
    """

    def __init__(self, owner: Any, name: str) -> None:
        self.owner, self.name = owner, name
        self._handlers: List[Tuple[object, Handler]] = []
        self.patches = Patches()
        self._before: Any = None
        self._own: Callable[..., Any] = _missing
        self._chain: Callable[..., Any] = _missing

    def add(self, patches: Patches, handler: Handler) -> None:
        """Put `handler` around all that were added before; it is removed with `patches`."""
        entry = (object(), handler)
        with _lock:
            if not self._stands():
                self._replace()
            self._handlers = [*self._handlers, entry]
            self._compose()
        patches.on_undo(functools.partial(self._remove, entry))

    def _remove(self, entry: Tuple[object, Handler]) -> None:
        with _lock:
            self._handlers = [handler for handler in self._handlers if handler[0] is not entry[0]]
            self._compose()
            if not self._handlers:
                self.patches.undo()

    def is_open(self) -> bool:
        """Whether it still has a handler."""
        return bool(self._handlers)

    def _stands(self) -> bool:
        value = vars(self.owner).get(self.name)
        return any(True for _ in self.patches.replaced()) and value is not self._before

    def _replace(self) -> None:
        self._before = vars(self.owner).get(self.name)
        own = self._before
        static = isinstance(own, staticmethod)
        self._own = own.__func__ if static else getattr(self.owner, self.name)
        self._chain = self._own

        def seam(*args: Any, **kwargs: Any) -> Any:
            return self._chain(*args, **kwargs)

        self.patches = Patches()
        self.patches.set(self.owner, self.name, staticmethod(seam) if static else seam)

    def _compose(self) -> None:
        chain = self._own
        # A handler that several fixes share is called once.
        for handler in dict.fromkeys(handler for _, handler in self._handlers):
            chain = functools.partial(handler, chain)
        self._chain = chain


def _missing(*args: Any, **kwargs: Any) -> Any:
    raise AttributeError("no attribute of Triton")


_seams: Dict[Tuple[int, str], Seam] = {}


def standing() -> List[Seam]:
    """The seams that are open."""
    return [seam for seam in _seams.values() if seam.is_open()]


def around(patches: Patches, owner: Any, name: str, handler: Handler) -> None:
    """Have ``owner.name`` call ``handler(own, *args, **kwargs)``, as long as `patches` are in place.

    Raises:
        AttributeError: this Triton has no such attribute.
    """
    getattr(owner, name)
    with _lock:
        seam = _seams.get((id(owner), name))
        if seam is None:
            # The seam keeps the owner alive, so that its id is not reused.
            seam = _seams[id(owner), name] = Seam(owner, name)
    seam.add(patches, handler)


def around_traced(patches: Patches, owner: Any, name: str, handler: Handler) -> None:
    """As `around`, of a function that Triton calls while it traces a kernel, and compiles without the handler as well.

    The handler is called only for kernels that its fix concerns. It calls Triton's own function, and returns a result
    of the same type. If it raises, or returns another type, the kernel is traced again without it. Exceptions of
    Triton's own function are raised as they are.
    """

    def guarded(own: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        if not concerns_now(patches.fix):
            return own(*args, **kwargs)
        call = Call(own)
        try:
            made = handler(call, *args, **kwargs)
            call.check_type(made, name)
            return made
        except Exception as error:
            if call.raised_it(error):
                raise
            failed_while_tracing(patches, error)
            return own(*args, **kwargs)

    around(patches, owner, name, guarded)


def around_call(
    patches: Patches, owner: Any, name: str, handler: Handler, kind: Any = None
) -> None:
    """As `around`, of a function that Triton calls outside of a compilation: an autotuner's, a launch's options.

    If the handler itself raises, or returns another type than Triton's own function did, its fix is left out and the
    call returns the result of Triton's own function. Exceptions of that function, and `CompatError`, are raised.

    Args:
        kind: the types that the handler may return without a call of Triton's own function, or where that raised.
    """

    def guarded(own: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        call = Call(own)

        def fits(made: Any) -> None:
            if call.made or kind is None or not isinstance(made, kind):
                call.check_type(made, name)

        return call.attempt(patches, handler, fits, args, kwargs)

    around(patches, owner, name, guarded)


class Call:
    """Triton's own function, as passed to one call of a handler: notes its result and its exception."""

    def __init__(self, own: Callable[..., Any]) -> None:
        self.own = own
        self.made: List[Any] = []
        self.raised: List[BaseException] = []

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            made = self.own(*args, **kwargs)
        except BaseException as error:
            self.raised.append(error)
            raise
        self.made.append(made)
        return made

    def raised_it(self, error: BaseException) -> bool:
        """Whether `error` is Triton's own."""
        return any(error is raised for raised in self.raised)

    def check_type(self, made: Any, name: str) -> None:
        """Raise if `made` is of no type that Triton's own function has returned."""
        if all(type(made) is not type(result) for result in self.made):
            raise TypeError(f"{made!r:.80} in place of what {name} returns")

    def attempt(
        self,
        patches: Patches,
        handler: Handler,
        fits: Callable[[Any], None],
        args: Any,
        kwargs: Any,
    ) -> Any:
        """``handler(self, *args, **kwargs)``; if it fails by itself, its fix is left out and Triton's answer counts.

        Args:
            fits: called with the handler's result; raises if that is not valid.
        """
        try:
            made = handler(self, *args, **kwargs)
            fits(made)
            return made
        except Exception as error:
            if isinstance(error, CompatError) or self.raised_it(error):
                raise
            patches.fail(error)
        if self.made:
            return self.made[-1]
        if self.raised:
            raise self.raised[-1]
        return self.own(*args, **kwargs)
