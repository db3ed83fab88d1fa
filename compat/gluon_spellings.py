"""Where the spellings of other releases meet Gluon: names that are added, and calls that take other arguments too.

Imported once Gluon has been. A name that this Triton has is left alone, but for one that is there to refuse.
"""

import sys
from typing import Any, Callable, Dict, Iterable, Iterator, Tuple

from .acts import note_acted
from .record import Items, Patches
from .seams.attribute import around_call
from .tracing import builtin, value

LANGUAGE = "triton.experimental.gluon.language"
Arguments = Tuple[Tuple[Any, ...], Dict[str, Any]]


class Gluon:
    """The Gluon of this process, as one shim changes it.

    Args:
        patches: the shim's.
    """

    def __init__(self, patches: Patches) -> None:
        self._patches = patches

    def module(self, path: str) -> Any:
        """The module at `path` below Gluon's language, "" for the language itself; None where this Triton has none."""
        return sys.modules.get(f"{LANGUAGE}.{path}" if path else LANGUAGE)

    def get(self, path: str) -> Any:
        """The object at `path` below Gluon's language, such as "nvidia.hopper.tma.async_load"; None where none is."""
        owner, _, name = path.rpartition(".")
        return getattr(self.module(owner), name, None)

    def add(self, owner: Any, name: str, item: Any) -> None:
        """Add a name that `owner` lacks; nothing where there is no owner, or nothing to add."""
        if owner is not None and item is not None and not hasattr(owner, name):
            self._patches.set(owner, name, item)

    def add_builtin(self, owner: Any, function: Callable[..., Any]) -> None:
        """Add `function` under its own name, as a builtin, where `owner` lacks it."""
        self.add(owner, function.__name__, builtin(function))

    def add_module(self, path: str, module: Any) -> None:
        """Have ``import`` find `module` at `path` below Gluon's language, where it finds none."""
        full = f"{LANGUAGE}.{path}"
        if module is not None and full not in sys.modules:
            self._patches.set(Items(sys.modules), full, module)  # type: ignore[arg-type]
            owner, _, name = path.rpartition(".")
            self.add(self.module(owner), name, module)

    def replace(self, owner: Any, name: str, item: Any) -> None:
        """Set ``owner.name``, which this Triton refuses, or which has fewer parameters."""
        self._patches.set(owner, name, item)

    def replace_all(self, owner: Any, name: str, item: Any) -> None:
        """As `replace`, in whichever module of Gluon's it is."""
        for place in list(self._holding(owner, name, vars(owner)[name])):
            self._patches.set(place, name, item)

    def translate(
        self, owner: Any, name: str, translated: Callable[..., Any], kind: Any = None
    ) -> None:
        """Have ``owner.name``, in whichever module it is, take the arguments of other releases.

        Args:
            owner: a module or class of Gluon's, or None where this Triton has none.
            name: of a function; one that is not there is left alone.
            translated: called with the arguments; returns them in this Triton's spelling, as (args, kwargs), or None
                where they are in that already, and where this Triton has no spelling for them.
            kind: as for `around_call`.
        """

        def handler(own: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
            other = translated(*args, **kwargs)
            if other is None:
                return own(*args, **kwargs)
            note_acted(self._patches.fix)
            return own(*other[0], **other[1])

        self.around(owner, name, handler, kind)

    def around(self, owner: Any, name: str, handler: Callable[..., Any], kind: Any = None) -> None:
        """Put `handler` around ``owner.name``, in whichever module of Gluon's it is, as `around_call` does."""
        own = None if owner is None else vars(owner).get(name)
        if own is not None:
            for place in list(self._holding(owner, name, own)):
                around_call(self._patches, place, name, handler, kind)

    def _holding(self, owner: Any, name: str, own: Any) -> Iterator[Any]:
        yield owner
        if isinstance(owner, type(sys)):
            for title, module in list(sys.modules.items()):
                inside = title == LANGUAGE or title.startswith(f"{LANGUAGE}.")
                if inside and module is not owner and getattr(module, name, None) is own:
                    yield module


def plain(item: Any) -> Any:
    """`item` without constexpr, and a tuple of the language as one of Python's, at any depth."""
    item = value(item)
    if isinstance(item, list):
        return [plain(each) for each in item]
    if is_tuple(item):
        return tuple(plain(each) for each in items(item))
    return item


def is_tuple(item: Any) -> bool:
    """Whether it is a tuple, of Python's or of the language."""
    return isinstance(item, tuple) or type(item).__name__ == "tuple"


def items(item: Any) -> Tuple[Any, ...]:
    """The elements of a list or a tuple, of Python's or of the language."""
    item = value(item)
    return tuple(getattr(item, "values", item))


def parameters(function: Any) -> Tuple[str, ...]:
    """Names of the parameters of a function of Gluon's."""
    import inspect

    return tuple(inspect.signature(function).parameters)


def renamed(named: Dict[str, Any], names: Iterable[Tuple[str, str]], known: Tuple[str, ...]) -> Any:
    """`named` with each name that is not `known` under the other one of its pair; None where there is none."""
    other = dict(named)
    for pair in names:
        for spelling, to in (pair, pair[::-1]):
            if spelling in other and spelling not in known and to in known and to not in other:
                other[to] = other.pop(spelling)
    return None if other.keys() == named.keys() else other
