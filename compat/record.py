"""The record that each shim carries, and the patches that it makes and can take back."""

from typing import Any, Callable, Dict, Iterable, Iterator, List, NamedTuple, Optional, Tuple, Union

from .errors import say_without_raising

_MISSING = object()


class _Replaced(NamedTuple):
    """One attribute, what its owner itself held there, and what is to be found there now."""

    owner: Any
    name: str
    before: Any
    ours: Any

    def put_back(self) -> bool:
        """Put `before` back, unless somebody has replaced ours since; whether ours is gone."""
        if not _holds(vars(self.owner).get(self.name), self.ours):
            return False
        if self.before is _MISSING:
            delattr(self.owner, self.name)
        else:
            setattr(self.owner, self.name, self.before)
        return True


class Patches:
    """Attributes replaced by one shim, in order; `undo` puts Triton's own objects back.

    Args:
        failed: called with the exception that `attempt` has caught, after everything was put back. Without it,
            `attempt` raises.
    """

    def __init__(self, failed: Optional[Callable[[Exception], None]] = None) -> None:
        self._undo: List[Union[_Replaced, Callable[[], None]]] = []
        self._failed = failed

    def set(self, owner: Any, name: str, value: Any) -> None:
        """Set `owner.name`, remembering what `owner` itself held there (an inherited attribute is uncovered again)."""
        before = vars(owner).get(name, _MISSING)
        setattr(owner, name, value)
        self._undo.append(_Replaced(owner, name, before, vars(owner).get(name)))

    def on_undo(self, function: Callable[[], None]) -> None:
        """Call `function` as well, when what was set after it has been put back."""
        self._undo.append(function)

    def attempt(self, function: Callable[..., None], *args: Any) -> bool:
        """Call ``function(*args)``, which replaces more: all of it or, where it raises, nothing of the whole shim.

        Every stage of a shim that Triton's own code comes by goes through here, so that no failure of ours gets there.

        Returns:
            Whether it succeeded.
        """
        before = len(self._undo)
        try:
            function(*args)
        except Exception as error:
            self.undo()
            if self._failed is None:
                raise
            self._failed(error)
            return False
        except BaseException:
            # Ctrl-C says nothing of the shim: as it was, so that it can be tried again.
            self.undo(before)
            raise
        return True

    def ask(self, function: Callable[..., Any], otherwise: Any, *args: Any) -> Any:
        """``function(*args)``, which says what to do with one kernel; `otherwise` where it raises.

        A fix that raises once is undone and left out, as `attempt` does: what it did not foresee in one kernel it does
        not foresee in the next, and the kernel goes on exactly as Triton makes it.
        """
        answer = [otherwise]

        def asked() -> None:
            answer[0] = function(*args)

        return answer[0] if self.attempt(asked) else otherwise

    def undo(self, until: int = 0) -> None:
        """Put back every attribute that still holds what this shim set; another's later patch is left alone.

        What lies under another's patch is tried again by the next call: when that one is a shim, it is undone by then.
        """
        covered = []
        while len(self._undo) > until:
            step = self._undo.pop()
            # One that cannot be put back must not keep the others from it.
            try:
                if not isinstance(step, _Replaced):
                    step()
                elif not step.put_back():
                    covered.append(step)
            except Exception as error:
                say_without_raising(f"crosswarp.compat could not take back a patch: {error!r}")
        self._undo += reversed(covered)

    def replaced(self) -> Iterator[Tuple[Any, str, Any]]:
        """Owner, name and what was set there, in order. Other copies of this library ask, of any age."""
        for step in self._undo:
            if isinstance(step, _Replaced):
                yield step.owner, step.name, step.ours


class Items:
    """A dictionary seen as attributes, so that `Patches` can keep it as it keeps everything else."""

    def __init__(self, items: Dict[str, Any]) -> None:
        self.__dict__ = items


def covered_by_others(stack: Iterable[Patches]) -> bool:
    """Whether somebody has replaced what `stack`, all patches that are in place, in order, had set last."""
    last = {}
    for patches in stack:
        for owner, name, ours in patches.replaced():
            last[id(owner), name] = (owner, name, ours)
    return not all(_holds(vars(owner).get(name), ours) for owner, name, ours in last.values())


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
        tier: what kind of difference it makes, of `choice.TIERS`.
    """

    name: str
    issue: str
    window: str
    symptom: str
    link: str
    delete_when: str
    apply: Callable[[Patches], None]
    order: int = 0
    tier: str = ""
