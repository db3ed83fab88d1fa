"""Patches to Triton's code generator: made when Triton first compiles, because it takes long to import.

Triton's key for a compiled kernel covers its own sources and the kernel's. Where a shim compiles a kernel to something
else, the shim is part of the compiler, and `key_with_revision` part of the key.
"""

import contextlib
import functools
import hashlib
import re
import threading
import weakref
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, Callable, Dict, Iterable, Iterator, List, NamedTuple, Optional, Set, Tuple

from .record import Patches


def before_first_trace(patches: Patches, heal: Callable[[Any], None]) -> None:
    """Call ``heal(CodeGenerator)``, once, before the first kernel is traced; never after `patches` were undone.

    Where that fails the shim is taken back and left out, and the kernel is traced as Triton does it.
    """
    from triton.compiler.compiler import ASTSource

    make_ir, lock = ASTSource.make_ir, threading.Lock()
    done: List[bool] = []
    # Uninstalling leaves the wrapper in place if another has wrapped it since.
    patches.on_undo(lambda: done.append(True))

    def heal_it():
        from triton.compiler.code_generator import CodeGenerator

        heal(CodeGenerator)

    # torch reads its parameters (`inspect.signature`), and takes a kernel to write to every tensor where it cannot.
    @functools.wraps(make_ir)
    def make_ir_healed(self, *args, **kwargs):
        with lock:
            if not done:
                patches.attempt(heal_it)
                done.append(True)
        return make_ir(self, *args, **kwargs)

    patches.set(ASTSource, "make_ir", make_ir_healed)


class _Keyed(NamedTuple):
    """A shim that keeps kernels under a key of their own; see `key_with_revision`."""

    concerns: Callable[[Iterable[Any]], bool]
    parameters: Optional["re.Pattern[str]"]
    changes: Optional[Callable[[str], bool]]

    def concerned_by(self, src: Any, reached: Iterable[Any]) -> bool:
        types = map(str, src.signature.values())
        if self.parameters and any(map(self.parameters.search, types)):
            return True
        return self.concerns(reached)


class _Asked(threading.local):
    for_tritons_own = False


_keyed: List[_Keyed] = []
# Of each shim that acts on what is made of TTGIR: whether it does, of TTIR or TTGIR as text.
_behind_ttgir: List[Callable[[str], bool]] = []
_asked = _Asked()


def key_with_revision(
    patches: Patches,
    concerns: Callable[[Iterable[Any]], bool],
    revision: Callable[[], str],
    changes: Optional[Callable[[str], bool]] = None,
    parameters: Optional["re.Pattern[str]"] = None,
) -> None:
    """Keep what is compiled from now on apart from what Triton compiles by itself.

    Args:
        patches: to be undone with the rest of the shim.
        concerns: whether the shim may change what the kernel becomes; gets all that `reachable` finds. Nothing is
            traced yet, so in doubt the answer is yes: a kernel in vain is compiled once more, one missed is wrong.
        revision: identifies what the shim does.
        changes: whether the shim does change it, of the TTIR that Triton makes by itself; None if that does not tell.
        parameters: kernels with a parameter of such a type are concerned too; signatures spell them ``*i8``, ``fp32``.
    """
    from triton.compiler.compiler import ASTSource

    own_hash = ASTSource.hash

    def concerns_or_failed(reached: Iterable[Any]) -> bool:
        return patches.ask(concerns, False, reached)

    def changes_or_failed(ir: str) -> bool:
        return changes is not None and patches.ask(changes, False, ir)

    keyed = _Keyed(concerns_or_failed, parameters, changes and changes_or_failed)

    @functools.wraps(own_hash)
    def hash_with_revision(self):
        key = own_hash(self)
        if _asked.for_tritons_own or not _is_concerned(keyed, self):
            return key
        return hashlib.sha256(f"{key} {revision()}".encode()).hexdigest()

    patches.set(ASTSource, "hash", hash_with_revision)
    _keyed.append(keyed)
    patches.on_undo(lambda: _keyed.remove(keyed))


def acts_behind_ttgir(patches: Patches, changes: Callable[[str], bool]) -> None:
    """Tell who keeps what a TTGIR becomes that the shim changes it still, of such IR as `changes` says."""
    _behind_ttgir.append(changes)
    patches.on_undo(lambda: _behind_ttgir.remove(changes))


def changed_behind_ttgir(ir: str) -> bool:
    """Whether a shim changes what is made of this TTGIR, which is then not what bare Triton makes of it."""
    return any(changes(ir) for changes in tuple(_behind_ttgir))


@contextlib.contextmanager
def tritons_own_keys() -> Iterator[None]:
    """In this thread a kernel has the key meanwhile under which bare Triton keeps it."""
    _asked.for_tritons_own = True
    try:
        yield
    finally:
        _asked.for_tritons_own = False


def who_keeps_apart(src: Any) -> Optional[List[Callable[[str], bool]]]:
    """What each shim that concerns the kernel says of its TTIR; None if one of them cannot tell by that."""
    told = [keyed.changes for keyed in tuple(_keyed) if _is_concerned(keyed, src)]
    return None if None in told else [changes for changes in told if changes is not None]


def look_ahead(kernel: Any) -> None:
    """Read the sources that the shims will ask about when this kernel is launched, here or in a fork."""
    reached = list(reachable([kernel]))
    for keyed in tuple(_keyed):
        # The others say by asking that they have acted.
        if keyed.changes is not None:
            keyed.concerns(reached)


class _Known(NamedTuple):
    """Of one kernel that is about to be compiled: it is asked for its key several times, by each shim."""

    reached: List[Any]
    concerned: Dict[_Keyed, bool]


_known: "weakref.WeakKeyDictionary[Any, _Known]" = weakref.WeakKeyDictionary()


def _is_concerned(keyed: _Keyed, src: Any) -> bool:
    known = _known.get(src)
    if known is None:
        reached = list(reachable([src.fn, *src.constants.values()]))
        known = _known[src] = _Known(reached, {})
    if keyed not in known.concerned:
        known.concerned[keyed] = keyed.concerned_by(src, known.reached)
    return known.concerned[keyed]


def source_says(words: "re.Pattern[str]") -> Callable[[Iterable[Any]], bool]:
    """For `key_with_revision`: a shim concerns what has `words` somewhere in the source of all that it reaches."""

    def concerns(reached: Iterable[Any]) -> bool:
        sources = (getattr(item, "src", None) for item in reached)
        return any(isinstance(source, str) and words.search(source) for source in sources)

    return concerns


def revision_of(file: str) -> str:
    """Identifies this file: what is compiled with it is good for as long as it stays as it is."""
    return hashlib.sha256(Path(file).read_bytes()).hexdigest()


def reachable(values: Iterable[Any]) -> Iterator[Any]:
    """The kernel among `values`, what it may call, and everything else that these name, each once.

    Args:
        values: the kernel, and what it is given at compile time, which may be functions.
    """
    from triton.language.core import constexpr
    from triton.runtime import jit

    # Breakpoint: Triton 3.5 calls by this name what a kernel and a function evaluated by the compiler have in common.
    callable_ = getattr(jit, "JITCallable", jit.JITFunction)
    seen: Set[Any] = set()
    left: List[Tuple[Any, Tuple[str, ...]]] = [(value, ()) for value in values]
    while left:
        item, names = left.pop()
        if isinstance(item, constexpr):
            item = item.value
        # Of a module only what the function that names it may look up there.
        inside = isinstance(item, ModuleType)
        key = (id(item), names) if inside else id(item)
        if key in seen:
            continue
        seen.add(key)
        if inside:
            left += [(vars(item)[name], names) for name in names if name in vars(item)]
            continue
        yield item
        function = getattr(item, "fn", None) if isinstance(item, callable_) else None
        if function is not None:
            names, scope = names_of(function.__code__), scope_of(item)
            left += [(scope[name], names) for name in names if name in scope]
            given = (function.__defaults__, *(function.__kwdefaults__ or {}).values())
            left += [(value, names) for value in given]
        elif isinstance(item, (list, tuple)):
            left += [(value, names) for value in item]
        elif isinstance(item, type) and getattr(item, "__triton_aggregate__", False):
            left += [(value, names) for value in vars(item).values()]


def scope_of(item: Any) -> Dict[str, Any]:
    """What the names in a kernel stand for."""
    # Breakpoint: before Triton 3.4 a kernel sees the globals of its module alone (but see closure_names).
    if hasattr(item, "get_capture_scope"):
        return item.get_capture_scope()
    return getattr(getattr(item, "fn", None), "__globals__", {})


def names_of(code: CodeType) -> Tuple[str, ...]:
    """What a function and the comprehensions in it look up."""
    inner = [const for const in code.co_consts if isinstance(const, CodeType)]
    return code.co_names + code.co_freevars + sum(map(names_of, inner), ())
