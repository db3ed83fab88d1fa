"""Hand a kernel on with other IR than Triton made of it, where it is known to go wrong; every other is left as it was.

The shims that do so say what to write instead. `pass_by_ir` leaves out a pass where that is enough.
"""

import functools
import os
import tempfile
import threading
from typing import Any, Callable, Iterator, NamedTuple, Optional, Sequence

from . import features
from .acts import note_acted
from .errors import say_once
from .record import Patches


class Meant(NamedTuple):
    """What a kernel's IR is compiled for.

    Attributes:
        capability: of NVIDIA's GPU, such as 90; 0 where that is not known.
        num_warps: 0 where that is not known.
    """

    capability: int
    num_warps: int

    @property
    def by_warp_groups(self) -> bool:
        """Whether Hopper's instructions for four warps together can be had."""
        return self.capability // 10 == 9 and self.num_warps >= 4


_UNKNOWN = Meant(0, 0)


class _Asking(threading.local):
    meant = _UNKNOWN


_asking = _Asking()


def meant() -> Meant:
    """For what the IR is compiled that `rewritten` of `rewrite` is asked about, in this thread."""
    return _asking.meant


def rewrite(
    patches: Patches,
    shim: str,
    rewritten: Callable[[str], Optional[str]],
    backends: Sequence[str] = ("nvidia",),
    laid_out: bool = False,
) -> None:
    """Have backends ask what to compile instead of a kernel's IR, as text before ``make_ttgir``; or behind it.

    Args:
        patches: to be undone with the rest of the shim.
        shim: its name, noted where a kernel is rewritten.
        rewritten: the other text, or None to leave it.
        backends: as Triton names their plugins; before Triton 3.0 there is NVIDIA's alone.
        laid_out: ask of what has layouts, which comes out of ``make_ttgir``.
    """

    def instead(mod: Any) -> Any:
        text = patches.ask(rewritten, None, str(mod))
        return mod if text is None else _parsed(text, mod, shim)

    def healed(make_ttgir: Callable) -> Callable:
        @functools.wraps(make_ttgir)
        def make_ttgir_of_another(mod: Any, *args: Any, **kwargs: Any) -> Any:
            if laid_out:
                return instead(make_ttgir(mod, *args, **kwargs))
            _asking.meant = _of_arguments(*args, **kwargs)
            try:
                other = instead(mod)
            finally:
                _asking.meant = _UNKNOWN
            return make_ttgir(other, *args, **kwargs)

        return make_ttgir_of_another

    for backend in _named(backends):
        patches.set(backend, "make_ttgir", staticmethod(healed(backend.make_ttgir)))


def _of_arguments(*args: Any, **kwargs: Any) -> Meant:
    """From those of make_ttgir behind the module: metadata, options, and NVIDIA's capability."""
    _, options, capability, *_ = (*args, *kwargs.values(), None, None, None)
    return Meant(
        capability if isinstance(capability, int) else 0, getattr(options, "num_warps", 0) or 0
    )


def rewrite_ptx(patches: Patches, shim: str, rewritten: Callable[[str], Optional[str]]) -> None:
    """Have ptxas get other PTX than ``make_ptx`` wrote.

    Args:
        patches: to be undone with the rest of the shim.
        shim: its name, noted where a kernel is rewritten.
        rewritten: the other text, or None to leave it.
    """

    def healed(make_ptx: Callable) -> Callable:
        @functools.wraps(make_ptx)
        def make_other_ptx(*args: Any, **kwargs: Any) -> Any:
            ptx = make_ptx(*args, **kwargs)
            other = patches.ask(rewritten, None, ptx)
            if other is None:
                return ptx
            note_acted(shim)
            return other

        return make_other_ptx

    for backend in _named(("nvidia",)):
        own = vars(backend)["make_ptx"]
        # Breakpoint: Triton 3.3 made a method of it.
        is_static = isinstance(own, staticmethod)
        ours = staticmethod(healed(own.__func__)) if is_static else healed(own)
        patches.set(backend, "make_ptx", ours)


def _named(names: Sequence[str]) -> Iterator[Any]:
    # Breakpoint: backends are plugins from Triton 3.0 on.
    if features.has_backends():
        import triton

        found = triton.backends.backends
        yield from (found[name].compiler for name in names if name in found)
    else:
        from triton.compiler.backends.cuda import CUDABackend

        yield CUDABackend


def _parsed(text: str, mod: Any, shim: str) -> Any:
    """`text` in the context of `mod`; `mod` itself, and a warning, where MLIR does not take it."""
    import triton._C.libtriton as module

    # Breakpoint: before Triton 3.0 `ir` is a part of `triton`.
    ir = getattr(module, "ir", None) or module.triton.ir
    with tempfile.TemporaryDirectory(prefix="crosswarp-") as folder:
        path = os.path.join(folder, "kernel.mlir")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        try:
            made = ir.parse_mlir_module(path, mod.context)
        except RuntimeError as error:
            say_once(
                f"a kernel is compiled as it is, because what {shim} makes of it is refused: {error}"
            )
            return mod
    made.context = mod.context
    note_acted(shim)
    return made
