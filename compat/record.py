"""The record that each shim carries, and the patches that it makes and can take back."""

import functools
import re
import types
from typing import Any, Callable, Dict, Iterable, Iterator, List, NamedTuple, Optional, Tuple, Union

from .errors import say_without_raising

_MISSING = object()
_PACKAGE = f"{__package__}."
_CACHED = type(functools.lru_cache(maxsize=None)(len))
_ROUTINES = (types.FunctionType, types.BuiltinFunctionType, types.MethodDescriptorType, _CACHED)


class _Replaced(NamedTuple):
    """One attribute: its owner's own value before, and the value that a reader should find there now."""

    owner: Any
    name: str
    before: Any
    ours: Any

    def put_back(self) -> bool:
        """Put `before` back, unless somebody has replaced ours since; returns whether ours is gone."""
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
        fix: name of the fix whose patches these are.
    """

    def __init__(self, failed: Optional[Callable[[Exception], None]] = None, fix: str = "") -> None:
        self.fix = fix
        self._undo: List[Union[_Replaced, Callable[[], None]]] = []
        self._failed = failed

    def set(self, owner: Any, name: str, value: Any) -> None:
        """Set `owner.name`, remembering what `owner` itself held there (an inherited attribute is uncovered again).

        A function of this library that replaces one gets its name, module and signature.
        """
        before = vars(owner).get(name, _MISSING)
        if before is not _MISSING:
            _look_like(before, value)
        setattr(owner, name, value)
        self._undo.append(_Replaced(owner, name, before, vars(owner).get(name)))

    def on_undo(self, function: Callable[[], None]) -> None:
        """Call `function` too, once everything set after this has been put back."""
        self._undo.append(function)

    def attempt(self, function: Callable[..., None], *args: Any) -> bool:
        """Call ``function(*args)``, which makes further replacements: all of them or, if it raises, none of the whole
        shim.

        Each stage of a shim that Triton's own code reaches goes through here, so that no failure of ours reaches
        Triton.

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
            # Ctrl-C says nothing about the shim: restore everything, so that it can be tried again.
            self.undo(before)
            raise
        return True

    def ask(self, function: Callable[..., Any], otherwise: Any, *args: Any) -> Any:
        """``function(*args)``, which decides what to do with one kernel; `otherwise` if it raises.

        A fix that raises once is undone and left out, as in `attempt`: a kernel that it did not foresee will come
        again. The kernel goes on exactly as Triton makes it.
        """
        answer = [otherwise]

        def asked() -> None:
            answer[0] = function(*args)

        return answer[0] if self.attempt(asked) else otherwise

    def fail(self, error: Exception) -> None:
        """Take everything back, and leave the fix out from now on: one of its functions raised `error`.

        Raises:
            Exception: `error`, if there is no handler to report it to.
        """
        self.undo()
        if self._failed is None:
            raise error
        self._failed(error)

    def undo(self, until: int = 0) -> None:
        """Put back every attribute that still holds this shim's value; another's later patch is left alone.

        An attribute under another's patch is tried again by the next call: a shim is undone by then.
        """
        covered = []
        while len(self._undo) > until:
            step = self._undo.pop()
            # One attribute that cannot be put back must not stop the others.
            try:
                if not isinstance(step, _Replaced):
                    step()
                elif not step.put_back():
                    covered.append(step)
            except Exception as error:
                say_without_raising(f"crosswarp.compat could not take back a patch: {error!r}")
        self._undo += reversed(covered)

    def replaced(self) -> Iterator[Tuple[Any, str, Any]]:
        """Owner, name and the value set there, in order. Called by other copies of this library, of any age."""
        for step in self._undo:
            if isinstance(step, _Replaced):
                yield step.owner, step.name, step.ours


def _look_like(before: Any, ours: Any) -> None:
    """Give `ours`, a function of this library, the name, module and signature of `before`, which it replaces.

    torch, debuggers and pickle ask for them. A function with more parameters exists for those, and keeps its signature.
    """
    before, ours = getattr(before, "__func__", before), getattr(ours, "__func__", ours)
    code = getattr(ours, "__code__", None)
    # Breakpoint: Triton 3.9 binds its C++ with nanobind, whose functions are of no type of Python's.
    routine = isinstance(before, _ROUTINES) or type(before).__module__ == "nanobind"
    if code is None or not routine or ours is before:
        return
    # Not by its `__module__`, which `functools.wraps` may have changed.
    if not str(ours.__globals__.get("__name__")).startswith(_PACKAGE):
        return
    cached = isinstance(before, _CACHED)
    replaced = getattr(before.__wrapped__ if cached else before, "__code__", None)
    if replaced is None or _count(code) <= _count(replaced):
        functools.update_wrapper(ours, before)
    if cached:
        for name in ("cache_clear", "cache_info", "cache_parameters"):
            setattr(ours, name, getattr(before, name))


def _count(code: Any) -> int:
    """The number of parameters that have a name."""
    return int(code.co_argcount + code.co_kwonlyargcount)


class Items:
    """A dictionary seen as attributes, so that `Patches` can keep it as it keeps everything else."""

    def __init__(self, items: Dict[str, Any]) -> None:
        self.__dict__ = items


def covered_by_others(stack: Iterable[Patches]) -> bool:
    """Whether somebody has replaced what `stack`, all patches in place, in order, had set last."""
    last = {}
    for patches in stack:
        for owner, name, ours in patches.replaced():
            last[id(owner), name] = (owner, name, ours)
    return not all(_holds(vars(owner).get(name), ours) for owner, name, ours in last.values())


def _holds(value: Any, ours: Any) -> bool:
    while value is not ours:
        value = inner(value)
        if value is None:
            return False
    return True


def inner(function: Any) -> Any:
    """The function under a wrapper of Triton's interpreter, or None where `function` is no wrapper.

    An interpreted launch wraps every builtin of `triton.language`, those that a shim put there as well. Up to Triton
    3.5 the wrappers stay, and hold the wrapped function as the default of a keyword, ``member``.
    Breakpoint: Triton 3.6 takes its wrappers back; delete with the last column before it.
    """
    return (getattr(function, "__kwdefaults__", None) or {}).get("member")


class Concerned(NamedTuple):
    """The kernels that a fix may compile differently from Triton: these may get a separate key.

    Attributes:
        kernels: whether a kernel may be one of them; gets all that `reachable` finds. Nothing is traced yet, so in
            doubt the answer is yes: a needless yes costs another look, a missed kernel stays wrong.
        parameters: kernels with a parameter of such a type are among them too; signatures spell them ``*i8``, ``fp32``.
        acts: of a fix that acts while a kernel is traced, whether it would, given the TTIR that Triton makes by itself;
            None where that does not show.
        surely: the fix acts on all of these kernels, which do not compile without it.
    """

    kernels: Callable[[Iterable[Any]], bool]
    parameters: Optional["re.Pattern[str]"] = None
    acts: Optional[Callable[[str], bool]] = None
    surely: bool = False


class Rewrite(NamedTuple):
    """A kernel's IR is replaced by another text before it is compiled.

    Attributes:
        text: given the IR's text, returns the other one, or None where it stays.
        backends: as Triton names their plugins; before Triton 3.0 there is NVIDIA's alone.
        laid_out: called on IR with layouts, the output of ``make_ttgir``; else on its input.
    """

    text: Callable[[str], Optional[str]]
    backends: Tuple[str, ...] = ("nvidia",)
    laid_out: bool = False


class RewriteAssembly(NamedTuple):
    """The assembler gets another text than LLVM wrote.

    Attributes:
        text: given LLVM's text, returns the other one, or None where it stays.
        may_act: whether it may, given TTIR or TTGIR.
        stage: as Triton names the text: ``ptx``, or ``amdgcn`` of AMD's backend.
    """

    text: Callable[[str], Optional[str]]
    may_act: Callable[[str], bool]
    stage: str = "ptx"


class OtherAssembler(NamedTuple):
    """Another ptxas that Triton has assembles a kernel.

    Attributes:
        tool: given PTX that Triton's usual ptxas gets wrong, returns the other one; None where the usual one is
            right. `seams.ir.meant` says for which GPU it is asked.
        may_act: whether it may, given TTIR or TTGIR.
    """

    tool: Callable[[str], Any]
    may_act: Callable[[str], bool]


class LeaveOut(NamedTuple):
    """A pass is left out, or added otherwise, for the kernels that it gets wrong.

    Attributes:
        wrong: whether the pass gets it wrong, given a kernel's IR as text before ``make_ttgir``.
        adders: functions that add the pass to a pass manager, as owner and name, on the installed Triton.
        backends: as Triton names their plugins; none for all of them.
        instead: given an adder's arguments, returns those that make it right; without it the pass is left out.
    """

    wrong: Callable[[str], bool]
    adders: Callable[[], Iterable[Tuple[Any, str]]]
    backends: Tuple[str, ...] = ()
    instead: Optional[Callable[[Tuple[Any, ...]], Tuple[Any, ...]]] = None


class OtherOptions(NamedTuple):
    """A kernel is compiled with other options: `options` gets its IR and Triton's options, and returns others or
    None."""

    options: Callable[[str, Any], Any]
    backends: Tuple[str, ...] = ("nvidia",)


Change = Union[Rewrite, RewriteAssembly, OtherAssembler, LeaveOut, OtherOptions]
# Up to PTX, or AMD's assembly, such a kernel is exactly Triton's.
BEHIND_TTGIR = (RewriteAssembly, OtherAssembler)


def _nothing(patches: Patches) -> None:
    """The default of a fix that changes compiled kernels, rather than names."""


class Shim(NamedTuple):
    """One change in behaviour, applied only on its affected releases.

    Attributes:
        name: the module's name in ``crosswarp.compat.shims``.
        issue: id of the known issue in ``issues.toml`` that it fixes.
        window: the affected releases: a specifier of the Triton versions on which it is installed.
        symptom: the error or effect without it, as text to search for.
        link: the upstream report or fix.
        delete_when: the fact after which it can be deleted.
        apply: called with a `Patches`; adds names and replaces attributes that no seam has.
        order: later ones wrap earlier ones where they replace the same attribute.
        tier: the kind of change it makes, one of `choice.TIERS`.
        revision: the version of the fix's effect on kernels; part of the key of those it acted on. Raise it with
            each change of that effect (`tests/test_revisions.py`).
        concerns: the kernels that the fix may compile differently; None where it changes none.
        changes: how it changes them, at the seams that Triton's compiler passes.
    """

    name: str
    issue: str
    window: str
    symptom: str
    link: str
    delete_when: str
    apply: Callable[[Patches], None] = _nothing
    order: int = 0
    tier: str = ""
    revision: int = 0
    concerns: Optional[Concerned] = None
    changes: Tuple[Change, ...] = ()
