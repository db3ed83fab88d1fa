"""The record that each shim carries, and the patches that it makes and can take back."""

from dataclasses import dataclass
from typing import Any, Callable, List, Tuple

_MISSING = object()


class Patches:
    """Attributes replaced by one shim, in order; `undo` puts Triton's own objects back."""

    def __init__(self) -> None:
        self._undo: List[Tuple[Any, str, Any, Any]] = []

    def set(self, owner: Any, name: str, value: Any) -> None:
        """Set `owner.name`, remembering what `owner` itself held there (an inherited attribute is uncovered again)."""
        before = vars(owner).get(name, _MISSING)
        setattr(owner, name, value)
        self._undo.append((owner, name, before, vars(owner).get(name)))

    def undo(self) -> None:
        """Put back every attribute that still holds what this shim set; another's later patch is left alone."""
        while self._undo:
            owner, name, before, ours = self._undo.pop()
            if vars(owner).get(name) is not ours:
                continue
            if before is _MISSING:
                delattr(owner, name)
            else:
                setattr(owner, name, before)


@dataclass(frozen=True)
class Shim:
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
