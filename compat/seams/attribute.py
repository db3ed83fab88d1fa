"""One attribute of Triton, replaced once for all who need it, by what has its name and its parameters."""

import functools
import threading
from typing import Any, Callable, Dict, List, Tuple

from ..record import Patches
from .compilation import concerns_now, failed_while_tracing

# handler(own, *args, **kwargs): `own` is what comes next, Triton's own function at last.
Handler = Callable[..., Any]

_lock = threading.RLock()


class Seam:
    """What stands in the place of ``owner.name``: a chain of handlers around Triton's own function.

    It is replaced by the first handler and put back with the last. Where another's patch lies on it, it stays and does
    what Triton's own does.
    """

    def __init__(self, owner: Any, name: str) -> None:
        self.owner, self.name = owner, name
        self._handlers: List[Tuple[object, Handler]] = []
        self._patches = Patches()
        self._before: Any = None
        self._own: Callable[..., Any] = _missing
        self._chain: Callable[..., Any] = _missing

    def add(self, patches: Patches, handler: Handler) -> None:
        """Put `handler` around all that were added before; it goes with `patches`."""
        entry = (object(), handler)
        with _lock:
            if not self._stands():
                self._replace()
            self._handlers = [*self._handlers, entry]
            self._compose()
        patches.on_undo(functools.partial(self._remove, entry))

    def _remove(self, entry: Tuple[object, Handler]) -> None:
        with _lock:
            self._handlers = [one for one in self._handlers if one[0] is not entry[0]]
            self._compose()
            if not self._handlers:
                self._patches.undo()

    def is_open(self) -> bool:
        """Whether anybody needs it."""
        return bool(self._handlers)

    def _stands(self) -> bool:
        found = vars(self.owner).get(self.name)
        return any(True for _ in self._patches.replaced()) and found is not self._before

    def _replace(self) -> None:
        self._before = vars(self.owner).get(self.name)
        own = self._before
        static = isinstance(own, staticmethod)
        self._own = own.__func__ if static else getattr(self.owner, self.name)
        self._chain = self._own

        def seam(*args: Any, **kwargs: Any) -> Any:
            return self._chain(*args, **kwargs)

        self._patches = Patches()
        self._patches.set(self.owner, self.name, staticmethod(seam) if static else seam)

    def _compose(self) -> None:
        chain = self._own
        # One that several fixes share is asked once.
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
            # The owner is held, so that its number is nobody else's.
            seam = _seams[id(owner), name] = Seam(owner, name)
    seam.add(patches, handler)


def around_traced(patches: Patches, owner: Any, name: str, handler: Handler) -> None:
    """As `around`, of a function that Triton calls while it traces a kernel, and compiles without the handler as well.

    The handler is asked of kernels alone that its fix concerns. It calls Triton's own function, and returns the like of
    what that did. Where it raises, or does not, the kernel is traced again without it; what Triton's own function
    raises is Triton's.
    """

    def guarded(own: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        if not concerns_now(patches.fix):
            return own(*args, **kwargs)
        of_triton: List[BaseException] = []
        kinds: List[type] = []

        def noting(*args: Any, **kwargs: Any) -> Any:
            try:
                made = own(*args, **kwargs)
            except BaseException as error:
                of_triton.append(error)
                raise
            kinds.append(type(made))
            return made

        try:
            made = handler(noting, *args, **kwargs)
            if type(made) not in kinds:
                raise TypeError(f"{made!r:.80} in place of what {name} returns")
            return made
        except Exception as error:
            if any(error is one for one in of_triton):
                raise
            failed_while_tracing(patches, error)
            return own(*args, **kwargs)

    around(patches, owner, name, guarded)
