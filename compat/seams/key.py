"""Triton's key for a compiled kernel: with the revisions of the fixes that act on it, and otherwise Triton's own."""

import hashlib
import weakref
from typing import Any, Callable, Dict, Iterable, List, Tuple

from ..reachable import reachable
from ..record import Patches
from ..scopes import in_scope
from .attribute import around
from .compilation import Fix, ask, now, placed_fixes
from .language import is_tritons_own


def open_for(patches: Patches) -> None:
    """Have keys name the fixes that act."""
    from triton.compiler.compiler import ASTSource

    around(patches, ASTSource, "hash", _hash)


def _hash(own: Callable[..., Any], source: Any) -> Any:
    key = own(source)
    compilation = now()
    if compilation is not None:
        acting = [fix for fix in compilation.fixes if fix.name in compilation.key]
    elif is_tritons_own(source):
        # Nobody has looked whether they act: a needless yes costs one more compilation, a missed kernel is wrong.
        acting = list(concerned(source))
    else:
        acting = []
    return hashlib.sha256(f"{key} {revisions(acting)}".encode()).hexdigest() if acting else key


def revisions(fixes: Iterable[Fix]) -> str:
    """These fixes and their revisions, as a text."""
    return " ".join(sorted(f"{fix.name}={fix.shim.revision}" for fix in fixes))


# All that a kernel about to be compiled reaches, and whether it concerns a fix: the key is requested several times.
_known: "weakref.WeakKeyDictionary[Any, Tuple[List[Any], Dict[Any, bool]]]"
_known = weakref.WeakKeyDictionary()


def concerned(source: Any) -> Tuple[Fix, ...]:
    """The fixes that may act on this kernel, in order, by its source and the types of its parameters."""
    if not placed_fixes():
        return ()
    known = _known.get(source)
    if known is None:
        reached = list(reachable([source.fn, *source.constants.values()]))
        known = _known[source] = reached, {}
    reached, concerns = known
    fixes_acting = []
    for fix in placed_fixes():
        if fix.patches not in concerns:
            concerns[fix.patches] = _concerns(fix, source, reached)
        # Not remembered: the requests for a fix, and their packages, may change.
        if concerns[fix.patches] and in_scope(fix.name, source.fn):
            fixes_acting.append(fix)
    return tuple(fixes_acting)


def _concerns(fix: Fix, source: Any, reached: List[Any]) -> bool:
    which = fix.shim.concerns
    if which is None:
        return False
    if which.parameters and any(map(which.parameters.search, map(str, source.signature.values()))):
        return True
    return bool(ask(fix, which.kernels, bool, reached))


def look_ahead(kernel: Any) -> None:
    """Read the sources that the fixes will ask about when this kernel is launched, here or in a fork."""
    reached = list(reachable([kernel]))
    for fix in placed_fixes():
        if fix.shim.concerns is not None:
            ask(fix, fix.shim.concerns.kernels, bool, reached)
