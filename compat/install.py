"""install, uninstall, and what is active. Before Triton is imported, installing waits for that import."""

import contextlib
import importlib.util
import sys
import threading
from typing import Dict, Iterator, List, Optional, Tuple

from .errors import CompatError
from .record import Patches, Shim
from .shims import all_shims
from .versions import in_window, triton_version

GUARD_MODES = ("auto", "always", "off")

_lock = threading.RLock()
_applied: List[Tuple[Shim, Patches]] = []
_wanted: Optional[str] = None
_acted: Dict[str, int] = {}


def install(guard: str = "auto") -> None:
    """Install every shim whose window holds this Triton. Idempotent and thread-safe.

    Args:
        guard: ``auto`` guards compilation (in a forked child) only on versions with a known compiler crash;
            ``always`` on every version; ``off`` never.

    Raises:
        CompatError: `guard` is none of these.
    """
    if guard not in GUARD_MODES:
        msg = f"guard={guard!r} is not known: use one of {', '.join(GUARD_MODES)}"
        raise CompatError(msg)
    global _wanted
    with _lock:
        if _wanted is not None and _wanted != guard:
            uninstall()
        already, _wanted = _wanted is not None, guard
        if already:
            return
        # Half-imported counts as not yet: torch may be importing Triton in this very call.
        if hasattr(sys.modules.get("triton"), "jit"):
            _apply()
        else:
            sys.meta_path.insert(0, _AfterTriton())  # type: ignore[arg-type]


def uninstall() -> None:
    """Put Triton's own objects back, and stop waiting for its import."""
    global _wanted
    with _lock:
        _wanted = None
        sys.meta_path[:] = [
            finder for finder in sys.meta_path if not isinstance(finder, _AfterTriton)
        ]
        while _applied:
            _applied.pop()[1].undo()


@contextlib.contextmanager
def installed(guard: str = "auto") -> Iterator[None]:
    """`install` for the length of a ``with`` block; what was installed before it stays installed after it."""
    before = _wanted
    install(guard)
    try:
        yield
    finally:
        uninstall()
        if before is not None:
            install(before)


def active() -> List[Shim]:
    """The shims that are installed now, in the order in which they were applied."""
    with _lock:
        return [shim for shim, _ in _applied]


def acted() -> List[str]:
    """Names of the shims that have changed the course of a launch or compilation in this process."""
    return sorted(_acted)


def note_acted(name: str) -> None:
    """Called by a shim each time that it acts."""
    _acted[name] = _acted.get(name, 0) + 1


def wanted_shims(guard: str, version: str) -> List[Shim]:
    """The shims to install on Triton `version`: those inside their window, the guard's by the `guard` mode."""
    chosen = []
    for shim in all_shims():
        inside = in_window(shim.window, version)
        if shim.name == "compiler_crash":
            inside = {"auto": inside, "always": True, "off": False}[guard]
        if inside:
            chosen.append(shim)
    return chosen


def _apply() -> None:
    version = triton_version()
    if version is None or _wanted is None:
        return
    for shim in wanted_shims(_wanted, version):
        patches = Patches()
        try:
            shim.apply(patches)
        except BaseException:
            patches.undo()
            raise
        _applied.append((shim, patches))


class _AfterTriton:
    """A finder on ``sys.meta_path`` that applies the shims as soon as ``import triton`` has run."""

    def __init__(self):
        self._looking = threading.local()

    def find_spec(self, name, path=None, target=None):
        # Asked again below, and asked by whoever only wants to know whether there is a Triton (torch 2.15 does): stay
        # in place until it really runs.
        if name != "triton" or getattr(self._looking, "now", False):
            return None
        self._looking.now = True
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self._looking.now = False
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def exec_module(module):
            execute(module)
            with _lock:
                if self in sys.meta_path:
                    sys.meta_path.remove(self)
                    if not _applied:
                        _apply()

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec
