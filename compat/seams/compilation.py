"""The compilation that this thread is in: which fixes are asked, which of them are in its key, and which have acted."""

import contextlib
import sys
import threading
from typing import Any, Callable, Dict, FrozenSet, Iterator, List, NamedTuple, Optional, Tuple

from ..record import Patches, Shim
from ..scopes import in_scope


class Fix(NamedTuple):
    """A fix that may change compiled kernels, and is in place."""

    shim: Shim
    patches: Patches

    @property
    def name(self) -> str:
        return self.shim.name


class Act(NamedTuple):
    """One change that a fix made to a kernel.

    Attributes:
        fix: its name.
        lines: of the kernel's source, as ``file:line``; empty where the IR does not say.
        before: IR or PTX as Triton made it; "" where the fix acted while the kernel was traced.
        after: IR or PTX that was compiled instead.
    """

    fix: str
    lines: Tuple[str, ...] = ()
    before: str = ""
    after: str = ""


class Again(BaseException):
    """Compile once more: a fix acts that is not in the kernel's key, or one has failed. Not an `Exception`, so that no
    code in between handles it as an error of the kernel."""


class Traced(BaseException):
    """The kernel was traced, and no more was requested."""


class Compilation:
    """One way through Triton's compiler.

    Attributes:
        fixes: those that may act on this kernel, in order.
        key: names of the fixes whose revision is in its key.
        foreign: the kernel is in another language, and left alone.
        looking: it is traced and no more.
        traced: Triton has begun to build it, so that it was not in a cache.
        acts: of the fixes, in order of time.
        excluded: names of fixes that have failed on it.
        kernel: the function that is compiled; None where nobody needs to know.
        failed: what fixes raised while it was traced.
    """

    def __init__(
        self,
        fixes: Tuple[Fix, ...] = (),
        key: FrozenSet[str] = frozenset(),
        foreign: bool = False,
        looking: bool = False,
        excluded: FrozenSet[str] = frozenset(),
        kernel: Any = None,
    ) -> None:
        self.kernel = kernel
        self.fixes, self.key, self.foreign, self.looking = fixes, key, foreign, looking
        self.names = frozenset(fix.name for fix in fixes)
        self.excluded = excluded
        self.traced = False
        self.acts: List[Act] = []
        self.failed: Dict[str, Tuple[Patches, Exception]] = {}

    @property
    def acted(self) -> FrozenSet[str]:
        """Names of the fixes that have acted and may be in the key."""
        return self.names.intersection(act.fix for act in self.acts)

    def check_key(self) -> None:
        """Start over if a fix has acted that is not in the key."""
        if not self.looking and not self.acted <= self.key:
            raise Again


class _Here(threading.local):
    now: Optional[Compilation] = None


_here = _Here()
# Every fix with `concerns` that is in place, in the order in which they act.
_placed: Tuple[Fix, ...] = ()
# Functions that put the other fixes in place; these wait for the first compilation.
_waiting: List[Tuple[Patches, Callable[[], None]]] = []
_lock = threading.RLock()


def place(shim: Shim, patches: Patches) -> None:
    """Have the fix asked of every kernel from now on, as long as `patches` are in place."""
    global _placed
    fix = Fix(shim, patches)

    def remove() -> None:
        global _placed
        with _lock:
            _placed = tuple(other for other in _placed if other is not fix)

    with _lock:
        # As they are installed: some are placed by the first compilation.
        _placed = tuple(sorted((*_placed, fix), key=lambda each: (each.shim.order, each.name)))
    patches.on_undo(remove)


def wait(patches: Patches, open_: Callable[[], None]) -> None:
    """Call `open_`, which places a fix, before the first compilation; never after `patches` were undone."""
    entry = (patches, open_)
    with _lock:
        _waiting.append(entry)

    def forget() -> None:
        with _lock:
            _waiting[:] = [other for other in _waiting if other is not entry]

    patches.on_undo(forget)


def placed_fixes() -> Tuple[Fix, ...]:
    """Every fix that may change compiled kernels and is in place."""
    if _waiting:
        with _lock:
            for entry in list(_waiting):
                patches, open_ = entry
                patches.attempt(open_)
                # Set only now: another thread that finds none waiting goes on.
                _waiting[:] = [other for other in _waiting if other is not entry]
    return _placed


def now() -> Optional[Compilation]:
    """The compilation of this thread; None outside of one, and in one that did not pass a seam."""
    return _here.now


@contextlib.contextmanager
def under(compilation: Compilation) -> Iterator[None]:
    """Make it the compilation of this thread."""
    before, _here.now = _here.now, compilation
    try:
        yield
    finally:
        _here.now = before


def asked() -> Tuple[Fix, ...]:
    """The fixes to ask about the kernel that this thread compiles; all of them if it passed no seam."""
    return placed_fixes() if _here.now is None else _here.now.fixes


def concerns_now(name: str) -> bool:
    """Whether the fix `name` may act on the kernel that this thread compiles."""
    compilation = _here.now
    if compilation is None:
        return True
    if compilation.foreign or name in compilation.excluded:
        return False
    if name in compilation.names:
        return True
    return all(fix.name != name for fix in placed_fixes()) and (
        compilation.kernel is None or in_scope(name, compilation.kernel)
    )


def failed_while_tracing(patches: Patches, error: Exception) -> None:
    """A fix raised `error`. The kernel is traced once more without it; if that goes well, the fix was at fault."""
    compilation = _here.now
    if compilation is None or compilation.looking:
        patches.fail(error)
        return
    compilation.failed[patches.fix] = patches, error
    raise Again


def note_failed(patches: Patches, error: Exception) -> None:
    """A fix raised `error`, and the kernel compiled without it."""
    patches.fail(error)


def failed(fix: Fix, error: Exception) -> None:
    """A fix raised `error` when it was asked about a kernel's IR: leave it out from now on."""
    fix.patches.fail(error)
    compilation = _here.now
    if compilation is None:
        return
    compilation.fixes = tuple(other for other in compilation.fixes if other is not fix)
    if fix.name in compilation.key | compilation.acted:
        raise Again


def ask(fix: Fix, function: Callable[..., Any], kind: Any, *args: Any) -> Any:
    """The answer of `function`, which belongs to the fix, about the kernel that this thread compiles; None if it fails.

    An answer that is not of `kind` is a failure too.
    """
    try:
        answer = function(*args)
        if not isinstance(answer, kind):
            raise TypeError(f"{getattr(function, '__name__', function)} returned {answer!r:.80}")
    except Exception as error:
        failed(fix, error)
        return None
    return answer


def note(act: Act) -> None:
    """Note that a fix has acted on the kernel that this thread compiles."""
    if _here.now is not None and act not in _here.now.acts:
        _here.now.acts.append(act)


def note_traced(name: str) -> None:
    """Note that a fix has acted while a kernel was traced, or launched; with the line, if it was traced."""
    if _here.now is None:
        return
    lines: Tuple[str, ...] = ()
    frame: Any = sys._getframe(1)
    while frame is not None and not lines:
        generator = frame.f_locals.get("self") if frame.f_code.co_name == "visit" else None
        node = getattr(generator, "cur_node", None)
        if node is not None and hasattr(node, "lineno"):
            file = getattr(generator, "file_name", "")
            lines = (f"{file}:{getattr(generator, 'begin_line', 0) + node.lineno}",)
        frame = frame.f_back
    note(Act(name, lines))
