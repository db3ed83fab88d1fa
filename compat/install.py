"""install, uninstall, and what is active. Before Triton is imported, installing waits for that import.

What is installed is the union of what was asked for: by `install`, until `uninstall`, and by each `installed` block, as
long as it lasts. A shim that cannot be applied to this Triton is taken back, said once and left out; the others go on.
"""

import contextlib
import functools
import importlib.util
import sys
import threading
from typing import Any, Dict, FrozenSet, Iterable, Iterator, List, NamedTuple, Optional, Tuple

from .errors import CompatError, say_without_raising
from .record import Patches, Shim, covered_by_others
from .shims import all_shims
from .versions import in_window, triton_version

GUARD_MODES = ("auto", "always", "off")


class _Request(NamedTuple):
    """What one caller asked for."""

    guard: str
    only: Optional[FrozenSet[str]]
    exclude: FrozenSet[str]

    def wants(self, shim: Shim, version: str) -> bool:
        if shim.name in self.exclude or (self.only is not None and shim.name not in self.only):
            return False
        if shim.name == "compiler_crash" and self.guard != "auto":
            return self.guard == "always"
        return in_window(shim.window, version)


_lock = threading.RLock()
_standing: List[_Request] = []
_passing: List[_Request] = []
# Also those that failed later than they were applied, which may lie under others: `_left_out` has their names.
_applied: List[Tuple[Shim, Patches]] = []
_left_out: Dict[str, str] = {}


def install(
    guard: str = "auto",
    only: Optional[Iterable[str]] = None,
    exclude: Iterable[str] = (),
) -> None:
    """Install every shim whose window holds this Triton. Idempotent and thread-safe.

    Whoever else has called it keeps what was asked for there: installed is the union. To have less than that, call
    `uninstall` first. A shim that fails on this Triton is undone, warned of once (`CompatWarning`) and left out.

    Args:
        guard: ``auto`` guards compilation (in a forked child) only on versions with a known compiler crash;
            ``always`` on every version; ``off`` never.
        only: names of shims, to install no others; None for all.
        exclude: names of shims that are not asked for.

    Raises:
        CompatError: `guard` is none of these, or there is no shim of a name.
    """
    request = _request(guard, only, exclude)
    with _lock:
        if request not in _standing:
            _standing.append(request)
        _settle()


def uninstall() -> None:
    """Put Triton's own objects back, whoever has asked for the shims, and stop waiting for Triton's import."""
    with _lock:
        _standing.clear()
        _passing.clear()
        _settle()


@contextlib.contextmanager
def installed(
    guard: str = "auto",
    only: Optional[Iterable[str]] = None,
    exclude: Iterable[str] = (),
) -> Iterator[None]:
    """`install` for the length of a ``with`` block.

    What was installed before stays installed after it, and so does what others, in other threads too, have asked for
    meanwhile: it takes back what nobody else wants.
    """
    request = _request(guard, only, exclude)
    with _lock:
        _passing.append(request)
        try:
            _settle()
        except BaseException:
            _forget(request)
            raise
    try:
        yield
    finally:
        with _lock:
            _forget(request)
            _settle()


def active() -> List[Shim]:
    """The shims that are installed now, in the order in which they were applied."""
    with _lock:
        return [shim for shim, _ in _applied if shim.name not in _left_out]


def left_out() -> Dict[str, str]:
    """The shims that were asked for and cannot be applied to this Triton: name, and what went wrong."""
    with _lock:
        return dict(_left_out)


def wanted_shims(
    guard: str,
    version: str,
    only: Optional[Iterable[str]] = None,
    exclude: Iterable[str] = (),
) -> List[Shim]:
    """The shims to install on Triton `version`: those inside their window, the guard's by the `guard` mode."""
    request = _request(guard, only, exclude)
    return [shim for shim in all_shims() if request.wants(shim, version)]


def _request(guard: str, only: Optional[Iterable[str]], exclude: Iterable[str]) -> _Request:
    if guard not in GUARD_MODES:
        msg = f"guard={guard!r} is not known: use one of {', '.join(GUARD_MODES)}"
        raise CompatError(msg)
    return _Request(
        guard, None if only is None else _names("only", only), _names("exclude", exclude)
    )


def _names(argument: str, given: Iterable[str]) -> FrozenSet[str]:
    names = [given] if isinstance(given, str) else list(given)
    if not names:
        return frozenset()
    import difflib

    known = [shim.name for shim in all_shims()]
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(str(name), known, 3)
            hint = f"did you mean {' or '.join(near)}? " if near else ""
            msg = f"{argument}: there is no shim {name!r}: {hint}compat.all_shims() lists them all"
            raise CompatError(msg)
    return frozenset(names)


def _forget(request: _Request) -> None:
    # Another block may have asked for the same: which of the two goes makes no difference.
    if request in _passing:
        _passing.remove(request)


def _settle() -> None:
    """Bring what is applied in line with what is asked for. Called with the lock held."""
    requests = [*_standing, *_passing]
    if not requests:
        sys.meta_path[:] = [f for f in sys.meta_path if not isinstance(f, _AfterTriton)]
        _take_back(0)
        _left_out.clear()
        return
    triton = sys.modules.get("triton")
    waiting = any(isinstance(finder, _AfterTriton) for finder in sys.meta_path)
    # Half-imported counts as not yet: torch may be importing Triton in this very call. And where another thread imports
    # it, that one will apply: it holds the lock of the import that we would wait for.
    importing = getattr(getattr(triton, "__spec__", None), "_initializing", False)
    if triton is None or (importing and (waiting or not hasattr(triton, "jit"))):
        if not waiting:
            sys.meta_path.insert(0, _AfterTriton())
    # What a library puts there on machines without Triton is no package.
    elif hasattr(triton, "__path__"):
        _apply(requests)


def _apply(requests: List[_Request]) -> None:
    version = triton_version()
    if version is None:
        return
    present = [shim.name for shim, _ in _applied]
    wanted = [
        shim
        for shim in all_shims()
        if any(request.wants(shim, version) for request in requests)
        # What could not be applied is not tried again.
        and (shim.name in present or shim.name not in _left_out)
    ]
    same = 0
    while same < min(len(wanted), len(present)) and wanted[same].name == present[same]:
        same += 1
    # They wrap each other in their order, so what comes in between is put under those that come later. Not where
    # somebody else's patch lies on ours, which would stay below it and wrap twice.
    grown = set(present) <= {shim.name for shim in wanted}
    if not (grown and covered_by_others(patches for _, patches in _applied)):
        _take_back(same)
    for shim in wanted:
        if shim.name not in _left_out and all(shim is not applied for applied, _ in _applied):
            patches = Patches(functools.partial(_leave_out, shim, version))
            if patches.attempt(shim.apply, patches):
                _applied.append((shim, patches))


def _take_back(keep: int) -> None:
    while len(_applied) > keep:
        _applied.pop()[1].undo()


def _leave_out(shim: Shim, version: str, error: Exception) -> None:
    import traceback

    where = traceback.extract_tb(error.__traceback__)[-1:]
    place = "".join(f", {frame.filename.rpartition('/')[2]}:{frame.lineno}" for frame in where)
    why = f"{type(error).__name__}: {error}{place}"
    _left_out[shim.name] = why
    say_without_raising(
        f"the shim {shim.name} cannot be applied to Triton {version} and is left out ({why}). Everything else goes on; "
        f"what it heals, Triton does as published: {shim.symptom}. Please report this line to crosswarp with what "
        f"`python -m crosswarp.compat doctor` says; install(exclude=[{shim.name!r}]) asks for the rest without a word"
    )


class _AfterTriton:
    """A finder on ``sys.meta_path`` that applies the shims as soon as ``import triton`` has run."""

    def __init__(self) -> None:
        self._looking = threading.local()

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        # Asked again below, and asked by whoever only wants to know whether there is a Triton (torch 2.15 does): stay
        # in place until it really runs.
        if name != "triton" or getattr(self._looking, "now", False):
            return None
        self._looking.now = True
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self._looking.now = False
        return after_execution(spec, self._imported)

    def _imported(self, module: Any) -> None:
        with _lock:
            if self not in sys.meta_path:
                return
            sys.meta_path.remove(self)
            try:
                _settle()
            except BaseException:
                # The import fails, of a Ctrl-C: the next one starts from where this did.
                _take_back(0)
                sys.meta_path.insert(0, self)
                raise


def after_execution(spec: Any, then: Any) -> Any:
    """`spec`, whose loader calls ``then(module)`` when the module has run; a failure of `then` is said, not raised."""
    loader = getattr(spec, "loader", None)
    execute = getattr(loader, "exec_module", None)
    if execute is None:
        return spec

    def exec_module(module: Any) -> None:
        execute(module)
        try:
            then(module)
        except Exception as error:
            say_without_raising(
                f"crosswarp.compat is not installed after all, because of {type(error).__name__}: {error}. Please "
                "report this line to crosswarp with what `python -m crosswarp.compat doctor` says"
            )

    try:
        if isinstance(loader, type):
            # The loader of other modules as well, which are none of our business.
            raise TypeError("a class")
        loader.exec_module = exec_module  # type: ignore[union-attr]
    except (AttributeError, TypeError):
        say_without_raising(
            f"crosswarp.compat cannot wait for the import of {spec.name} by {loader!r}: call compat.install() after it"
        )
    return spec
