"""The record that each shim carries, and the patches that it makes and can take back."""

from typing import Any, Callable, List, NamedTuple

_MISSING = object()


class Patches:
    """Attributes replaced by one shim, in order; `undo` puts Triton's own objects back."""

    def __init__(self) -> None:
        self._undo: List[Callable[[], None]] = []

    def set(self, owner: Any, name: str, value: Any) -> None:
        """Set `owner.name`, remembering what `owner` itself held there (an inherited attribute is uncovered again)."""
        before = vars(owner).get(name, _MISSING)
        setattr(owner, name, value)
        ours = vars(owner).get(name)
        self._undo.append(lambda: _put_back(owner, name, before, ours))

    def on_undo(self, function: Callable[[], None]) -> None:
        """Call `function` as well, when what was set after it has been put back."""
        self._undo.append(function)

    def undo(self) -> None:
        """Put back every attribute that still holds what this shim set; another's later patch is left alone."""
        while self._undo:
            self._undo.pop()()


def _put_back(owner: Any, name: str, before: Any, ours: Any) -> None:
    if not _holds(vars(owner).get(name), ours):
        return
    if before is _MISSING:
        delattr(owner, name)
    else:
        setattr(owner, name, before)


def _holds(found: Any, ours: Any) -> bool:
    while found is not ours:
        found = inner(found)
        if found is None:
            return False
    return True


def inner(function: Any) -> Any:
    """What a wrapper of Triton's interpreter calls, or None where `function` is none.

    An interpreted launch wraps every builtin of `triton.language`, those that a shim put there as well. Up to Triton
    3.5 the wrappers stay, and have what they wrap as the default of a keyword, ``member``.
    Breakpoint: Triton 3.6 takes its wrappers back; delete with the last column before it.
    """
    return (getattr(function, "__kwdefaults__", None) or {}).get("member")


class Shim(NamedTuple):
    """One change in behaviour, applied only inside its window.

    Attributes:
        name: the module's name in ``crosswarp.compat.shims``.
        issue: id of the record in ``issues.toml`` that it heals.
        window: specifier of the Triton versions on which it is installed.
        symptom: what the user sees without it, as text to search for.
        link: the upstream report or fix.
        delete_when: the fact after which it can be deleted.
        apply: called with a `Patches`; replaces what must be replaced.
        order: later ones wrap earlier ones where they replace the same attribute.
    """

    name: str
    issue: str
    window: str
    symptom: str
    link: str
    delete_when: str
    apply: Callable[[Patches], None]
    order: int = 0
