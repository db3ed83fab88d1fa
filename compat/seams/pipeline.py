"""One compilation with fixes: which act, under which key, and the handling of one that fails.

A kernel that no fix may concern is compiled by Triton, under Triton's key. For any other, the fixes that act on it must
be known before it has a key. An earlier decision is remembered (`decisions`). Otherwise the kernel is requested under
Triton's own key. If it comes from the cache, its IR shows whether a fix would have acted. If not, it is built, and as
soon as a fix acts that is not in the key, the compilation starts over with it in the key (`Again`). So every key under
which a kernel is kept names the fixes that acted.
"""

import contextlib
import copy
import weakref
from typing import Any, Callable, Dict, FrozenSet, List, Optional, Tuple

from ..acts import note_acted
from ..features import backend_and_arch
from ..record import BEHIND_TTGIR, Patches, Shim
from . import decisions, ir, key, launches, trace
from .compilation import (
    Act,
    Again,
    Compilation,
    Fix,
    Traced,
    note_failed,
    place,
    placed_fixes,
    under,
)
from .decisions import Decision
from .ir import Meant
from .language import is_tritons_own

# The fixes' changes to a kernel of this process, for as long as the process has the kernel.
_acts_on: "weakref.WeakKeyDictionary[Any, Tuple[Act, ...]]" = weakref.WeakKeyDictionary()
_kernels_of: "weakref.WeakKeyDictionary[Any, List[Any]]" = weakref.WeakKeyDictionary()


def compiled(compile_: Callable[..., Any], src: Any, args: Tuple[Any, ...], kwargs: Any) -> Any:
    """``compile_(src, *args, **kwargs)`` with the fixes that act on the kernel, and without those that fail."""
    if not is_tritons_own(src):
        foreign = Compilation(foreign=True)
        with under(foreign):
            kernel = compile_(src, *args, **kwargs)
        _note_acts(src, kernel, tuple(foreign.acts))
        return kernel
    failed: Dict[str, Tuple[Patches, Exception]] = {}
    decided: Optional[Decision] = None
    # In each iteration one more fix is known to act, or to have failed.
    for _ in range(2 * len(placed_fixes()) + 2):
        fixes = tuple(fix for fix in key.concerned(src) if fix.name not in failed)
        identity = decisions.identity(src, args, kwargs, fixes) if fixes else ""
        if fixes and decided is None:
            decided = decisions.find(identity)
        known = decided
        sure = frozenset(
            fix.name for fix in fixes if fix.shim.concerns and fix.shim.concerns.surely
        )
        now = Compilation(
            fixes,
            sure if known is None else known.names & {fix.name for fix in fixes},
            excluded=frozenset(failed),
            kernel=src.fn,
        )
        try:
            with under(now):
                kernel = compile_(src, *args, **kwargs)
        except Again:
            failed.update(now.failed)
            gone = now.names - {fix.name for fix in now.fixes}
            decided = Decision((now.key | now.acted) - gone - frozenset(failed))
            continue
        except Exception as error:
            instead = _without(compile_, src, args, kwargs, now, error)
            if instead is None:
                raise
            return instead[0]
        acts: Tuple[Act, ...] = ()
        if fixes:
            if now.traced:
                decision = Decision(now.acted | sure, tuple(now.acts))
            elif known is None:
                decision = _decided_by_cached_kernel(compile_, src, args, kwargs, kernel, now)
                if decision.names != now.key:
                    decided = decision
                    continue
            else:
                decision = known
            # Not kept if a fix has failed: the next process will try it again.
            if not failed and now.fixes == fixes:
                decisions.keep(identity, decision)
            acts = decision.acts or tuple(Act(name) for name in sorted(decision.names))
        # Those that need no place in the key too: another ptxas is in Triton's own.
        known_acts = {act.fix for act in acts}
        _note_acts(
            src,
            kernel,
            (*acts, *(act for act in now.acts if act.fix not in known_acts)),
            bool(fixes),
        )
        for patches, raised in failed.values():
            note_failed(patches, raised)
        return kernel
    with under(Compilation(foreign=True)):
        return compile_(src, *args, **kwargs)


def _note_acts(src: Any, kernel: Any, acts: Tuple[Act, ...], concerned: bool = False) -> None:
    if not acts and not concerned:
        return
    for name in {act.fix for act in acts}:
        note_acted(name)
    with contextlib.suppress(TypeError):
        _acts_on[kernel] = acts
        _kernels_of.setdefault(getattr(src, "fn", None), []).append(weakref.ref(kernel))


def _decided_by_cached_kernel(
    compile_: Callable[..., Any],
    src: Any,
    args: Tuple[Any, ...],
    kwargs: Any,
    kernel: Any,
    now: Compilation,
) -> Decision:
    """The fixes that would act on a kernel that was in the cache under Triton's own key."""
    names = set(now.key)
    meant = _meant(kernel, args, kwargs)
    only_traced = []
    with under(now):
        for fix in now.fixes:
            if fix.name not in names:
                acts = ir.would_act(fix, getattr(kernel, "asm", None) or {}, meant)
                if acts is None:
                    only_traced.append(fix.name)
                elif acts:
                    names.add(fix.name)
    if only_traced:
        names |= _while_traced(compile_, src, args, kwargs, now.fixes) & set(only_traced)
    return Decision(frozenset(names) & {fix.name for fix in now.fixes})


def _while_traced(
    compile_: Callable[..., Any],
    src: Any,
    args: Tuple[Any, ...],
    kwargs: Any,
    fixes: Tuple[Fix, ...],
) -> FrozenSet[str]:
    """The fixes that act while the kernel is traced, and no more."""
    ours = copy.copy(src)
    # A key that was never compiled, so that the cache does not have it.
    ours.hash = lambda: f"{src.hash()}-traced"
    looking = Compilation(fixes, looking=True)
    try:
        with under(looking):
            compile_(ours, *args, **kwargs)
    except Traced:
        return looking.acted
    except Exception:
        # It was compiled before, so a fix prevents the tracing.
        return frozenset()
    return looking.acted


def _meant(kernel: Any, args: Tuple[Any, ...], kwargs: Any) -> Meant:
    target = kwargs.get("target") or (args[0] if args else None)
    _, arch = backend_and_arch(target)
    metadata = getattr(kernel, "metadata", None)
    warps = metadata.get("num_warps") if isinstance(metadata, dict) else getattr(metadata, "num_warps", 0)  # fmt: skip
    return Meant(arch if isinstance(arch, int) else 0, warps or 0)


def _without(
    compile_: Callable[..., Any],
    src: Any,
    args: Tuple[Any, ...],
    kwargs: Any,
    now: Compilation,
    error: Exception,
) -> Optional[Tuple[Any]]:
    """The kernel without the fixes behind TTGIR that acted on it, if it compiles without them; they have failed then.

    Of these alone: up to PTX the kernel is as Triton made it. Other fixes may stand between a process and its end.
    """
    acting = [
        fix
        for fix in now.fixes
        if fix.name in now.acted
        and any(isinstance(change, BEHIND_TTGIR) for change in fix.shim.changes)
    ]
    if not acting:
        return None
    names = frozenset(fix.name for fix in acting)
    bare = Compilation(
        tuple(fix for fix in now.fixes if fix.name not in names),
        now.key - names,
        excluded=now.excluded | names,
    )
    try:
        with under(bare):
            kernel = compile_(src, *args, **kwargs)
    except (Again, Exception):
        return None
    for fix in acting:
        note_failed(fix.patches, error)
    return (kernel,)


def open_for(shim: Shim, patches: Patches) -> None:
    """Have the fix asked about every kernel that it concerns, as long as `patches` are in place."""
    key.open_for(patches)
    launches.open_for(patches)
    trace.open_for(patches)
    ir.open_for(shim, patches)
    place(shim, patches)


def acts_on(kernel: Any) -> Optional[Tuple[Act, ...]]:
    """The fixes' changes to a compiled kernel; None if this process has not compiled or loaded it with compat."""
    try:
        return _acts_on.get(kernel)
    except TypeError:
        return None


def kernels_of(function: Any) -> List[Any]:
    """The compiled kernels of a ``@triton.jit`` function that a fix concerned, as long as they are in memory."""
    return [
        kernel for kernel in (reference() for reference in _kernels_of.get(function, [])) if kernel
    ]
