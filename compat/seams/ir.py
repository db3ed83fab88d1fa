"""A kernel's IR, assembly and passes on their way through Triton's compiler, and the fixes' changes to them.

The IR is printed once, and only where a fix may act on the kernel. If MLIR rejects the text of a fix, that fix is left
out and the kernel compiled as it is.
"""

import functools
import os
import sys
import tempfile
import threading
from typing import Any, Callable, FrozenSet, Iterator, List, NamedTuple, Optional, Tuple

from .. import features
from ..acts import note_acted
from ..record import (
    BEHIND_TTGIR,
    Change,
    LeaveOut,
    OtherAssembler,
    OtherOptions,
    Patches,
    Rewrite,
    RewriteAssembly,
    Shim,
)
from .attribute import around
from .compilation import Act, Fix, ask, asked, failed, note, now
from .lines import changed_lines

# The backend that writes an assembler's text, and what the assembler makes of it.
_BACKENDS = {"ptx": "nvidia", "amdgcn": "amd"}
_BINARIES = {"ptx": "cubin", "amdgcn": "hsaco"}


class Meant(NamedTuple):
    """The GPU and the warps that a kernel's IR is compiled for.

    Attributes:
        capability: of NVIDIA's GPU, such as 90; 0 where that is not known.
        num_warps: 0 where that is not known.
    """

    capability: int
    num_warps: int

    @property
    def by_warp_groups(self) -> bool:
        """Whether Hopper's instructions for four warps together are available."""
        return self.capability // 10 == 9 and self.num_warps >= 4


_UNKNOWN = Meant(0, 0)


class _State(threading.local):
    meant = _UNKNOWN
    # Names of the fixes whose passes are left out now, or added otherwise.
    without: FrozenSet[str] = frozenset()
    # The ptxas that assembles now; None where it is Triton's own.
    assembler: Any = None


_state = _State()


def meant() -> Meant:
    """The target of the IR that a `Rewrite` is asked about, in this thread."""
    return _state.meant


def open_for(shim: Shim, patches: Patches) -> None:
    """Have Triton's backends, and the functions that add passes, ask the fixes."""
    for change in shim.changes:
        if isinstance(change, RewriteAssembly):
            for _, backend in backends((_BACKENDS[change.stage],)):
                around(patches, backend, f"make_{change.stage}", _of_stage(change.stage))
            continue
        if isinstance(change, OtherAssembler):
            for _, backend in backends(("nvidia",)):
                around(patches, backend, "make_cubin", _make_cubin)
                around(patches, sys.modules[backend.__module__], "get_ptxas", _get_ptxas)
            continue
        for name, backend in backends(change.backends):
            around(patches, backend, "make_ttgir", _of_backend(name))
        if isinstance(change, LeaveOut):
            for owner, adder in change.adders():
                around(patches, owner, adder, functools.partial(_add_pass, patches.fix, change))


def backends(names: Tuple[str, ...]) -> Iterator[Tuple[str, Any]]:
    """Name and class of those among `names` that this Triton has; of all where no name is given."""
    # Breakpoint: backends are plugins from Triton 3.0 on.
    if not features.has_backends():
        from triton.compiler.backends.cuda import CUDABackend

        if not names or "nvidia" in names:
            yield "nvidia", CUDABackend
        return
    import triton

    for name, backend in triton.backends.backends.items():
        # A backend that is named must have it, or the fix is left out.
        if name in names or (not names and "make_ttgir" in vars(backend.compiler)):
            yield name, backend.compiler


@functools.lru_cache(maxsize=None)
def _of_backend(name: str) -> Callable[..., Any]:
    return functools.partial(_make_ttgir, name)


def _make_ttgir(backend: str, own: Callable[..., Any], mod: Any, *args: Any, **kwargs: Any) -> Any:
    work = [
        (fix, change)
        for fix in asked()
        for change in fix.shim.changes
        if not isinstance(change, BEHIND_TTGIR)
        and (not change.backends or backend in change.backends)
    ]
    if not work:
        return own(mod, *args, **kwargs)
    before = _state.without
    try:
        early = [(fix, change) for fix, change in work if not _is_late(change)]
        if early:
            mod, args, kwargs = _ahead(early, mod, args, kwargs)
            _check_key()
        made = own(mod, *args, **kwargs)
        late = [(fix, change) for fix, change in work if _is_late(change)]
        if late:
            made, _, _ = _ahead(late, made, args, kwargs)
            _check_key()
        return made
    finally:
        _state.without = before


def _is_late(change: Change) -> bool:
    return isinstance(change, Rewrite) and change.laid_out


def _check_key() -> None:
    compilation = now()
    if compilation is not None:
        compilation.check_key()


def _ahead(work: List[Tuple[Fix, Any]], mod: Any, args: Any, kwargs: Any) -> Tuple[Any, Any, Any]:
    """The module, and the arguments behind it, as changed by the fixes in `work`."""
    before, _state.meant = _state.meant, _of_arguments(*args, **kwargs)
    try:
        return _changed(work, mod, args, kwargs)
    finally:
        _state.meant = before


def _changed(work: List[Tuple[Fix, Any]], mod: Any, args: Any, kwargs: Any) -> Tuple[Any, Any, Any]:
    text = str(mod)
    for fix, change in work:
        if fix not in asked():
            continue
        if isinstance(change, Rewrite):
            other = ask(fix, change.text, (str, type(None)), text)
            if other is None:
                continue
            try:
                mod = _parsed(other, mod)
            except Exception as error:
                failed(fix, error)
                continue
            _note(fix, text, other)
            text = other
        elif isinstance(change, LeaveOut):
            if ask(fix, change.wrong, bool, text):
                _state.without |= {fix.name}
                _note(fix)
        elif isinstance(change, OtherOptions):
            args, kwargs = _with_options(fix, change, text, args, kwargs)
    return mod, args, kwargs


def _with_options(
    fix: Fix, change: OtherOptions, text: str, args: Any, kwargs: Any
) -> Tuple[Any, Any]:
    given = kwargs["opt"] if "opt" in kwargs else args[1]
    other = ask(fix, change.options, (type(given), type(None)), text, given)
    if other is None:
        return args, kwargs
    _note(fix)
    if "opt" in kwargs:
        return args, dict(kwargs, opt=other)
    return (args[0], other, *args[2:]), kwargs


def _note(fix: Fix, before: str = "", after: str = "") -> None:
    if now() is None:
        note_acted(fix.name)
    else:
        note(Act(fix.name, changed_lines(before, after), before, after))


def _of_arguments(*args: Any, **kwargs: Any) -> Meant:
    """From the arguments of make_ttgir behind the module: metadata, options, and NVIDIA's capability."""
    _, options, capability, *_ = (*args, *kwargs.values(), None, None, None)
    return Meant(
        capability if isinstance(capability, int) else 0, getattr(options, "num_warps", 0) or 0
    )


def _add_pass(name: str, change: LeaveOut, own: Callable[..., Any], *args: Any) -> Any:
    if name not in _state.without:
        return own(*args)
    if change.instead is None:
        return None
    fix = next((fix for fix in asked() if fix.name == name), None)
    other = None if fix is None else ask(fix, change.instead, tuple, args)
    return own(*(args if other is None else other))


@functools.lru_cache(maxsize=None)
def _of_stage(stage: str) -> Callable[..., Any]:
    return functools.partial(_make_assembly, stage)


def _make_assembly(stage: str, own: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    text = own(*args, **kwargs)
    for fix in asked():
        for change in fix.shim.changes:
            if isinstance(change, RewriteAssembly) and change.stage == stage and fix in asked():
                other = ask(fix, change.text, (str, type(None)), text)
                if other is not None:
                    _note(fix, text, other)
                    text = other
    _check_key()
    return text


def _make_cubin(own: Callable[..., Any], backend: Any, ptx: Any, *args: Any, **kwargs: Any) -> Any:
    before = _state.meant, _state.assembler
    _state.meant = _of_arguments(*args, **kwargs)
    try:
        for fix in asked():
            for change in fix.shim.changes:
                if isinstance(change, OtherAssembler) and fix in asked():
                    tool = ask(fix, change.tool, _tools(), ptx)
                    if tool is not None:
                        _note(fix)
                        _state.assembler = tool
        _check_key()
        return own(backend, ptx, *args, **kwargs)
    finally:
        _state.meant, _state.assembler = before


def _get_ptxas(own: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    return own(*args, **kwargs) if _state.assembler is None else _state.assembler


def _tools() -> Tuple[type, ...]:
    from triton.knobs import NvidiaTool

    return (NvidiaTool, type(None))


def changed_behind_ttgir(ir: str) -> bool:
    """Whether a fix may change the result of this TTGIR, which then differs from Triton's."""
    return any(
        bool(ask(fix, change.may_act, bool, ir))
        for fix in asked()
        for change in fix.shim.changes
        if isinstance(change, BEHIND_TTGIR)
    )


def would_act(fix: Fix, asm: Any, meaning: Meant) -> Optional[bool]:
    """Whether the fix would act on a kernel that was compiled without it; None if only tracing it shows that.

    Args:
        asm: the texts that Triton keeps of a kernel, by stage. If it has kept no IR, the answer is yes.
        meaning: the target of the compilation.
    """
    calls: List[Tuple[str, Callable[[str], Any], Any]] = []
    acts = None if fix.shim.concerns is None else fix.shim.concerns.acts
    if acts is not None:
        calls.append(("ttir", acts, bool))
    for change in fix.shim.changes:
        if isinstance(change, Rewrite):
            stage = "ttgir" if change.laid_out else "ttir"
            calls.append((stage, change.text, (str, type(None))))
        elif isinstance(change, RewriteAssembly):
            calls.append((change.stage, change.text, (str, type(None))))
        elif isinstance(change, OtherAssembler):
            calls.append(("ptx", change.tool, _tools()))
        elif isinstance(change, LeaveOut):
            calls.append(("ttir", change.wrong, bool))
    if not calls:
        return None
    before, _state.meant = _state.meant, meaning
    try:
        for stage, function, kind in calls:
            # Another backend has no such text.
            if stage in _BINARIES and stage not in asm and _BINARIES[stage] not in asm:
                continue
            text = asm.get(stage)
            if not isinstance(text, str):
                return True
            answer = ask(fix, function, kind, text)
            if answer is not None and answer is not False:
                return True
    finally:
        _state.meant = before
    return False


def _parsed(text: str, mod: Any) -> Any:
    """`text` as a module in the context of `mod`; MLIR verifies what it parses."""
    import triton._C.libtriton as module

    # Breakpoint: before Triton 3.0 `ir` is a part of `triton`.
    ir = getattr(module, "ir", None) or module.triton.ir
    with tempfile.TemporaryDirectory(prefix="crosswarp-") as folder:
        path = os.path.join(folder, "kernel.mlir")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        made = ir.parse_mlir_module(path, mod.context)
    made.context = mod.context
    return made
