"""install, uninstall, and the list of active shims. Before Triton is imported, installing waits for that import.

The union of all requests is installed: by `install`, until `uninstall`, and by each `installed` block, as long as it
lasts. A shim that cannot be applied to this Triton is taken back, reported once and left out; the others stay.

A process may hold several copies of this library (`copies`). Then the union is over all of them, each shim once: any
copy works out the whole, and asks the copy chosen for a shim to apply it.
"""

import contextlib
import functools
import importlib.util
import os
import sys
import threading
from typing import (
    Any,
    Callable,
    Collection,
    Dict,
    Iterable,
    Iterator,
    List,
    NamedTuple,
    Optional,
    Set,
    Tuple,
)

from . import choice, interpreter
from .after_import import after_execution
from .choice import AnyShim, Request
from .copies import COMMON, VERSION
from .errors import log, say_without_raising
from .record import Patches, Shim, covered_by_others
from .shims import Listed, listed, load
from .versions import TESTED_UP_TO, read, triton_text


class _Applied(NamedTuple):
    """A shim that is in place, its patches, and the copy that made them (`_Here`)."""

    shim: AnyShim
    patches: Patches
    copy: Any


_lock = COMMON.lock
_standing: List[Request] = []
_passing: List[Request] = []
# Including those that failed after they were applied, which may lie under others.
_left_out: Dict[str, str] = {}


class _Here:
    """This copy, as the other copies see it."""

    version = VERSION

    def shims(self) -> Dict[str, Shim]:
        return {shim.name: self.record(shim) for shim in listed()}

    def listed(self) -> Iterable[AnyShim]:
        return listed()

    def wanted(self, version: str) -> Set[str]:
        """Names of the shims requested of this copy, on this Triton."""
        requests = [*_standing, *_passing]
        return {s.name for s in listed() if any(r.wants(s, version) for r in requests)}

    def guards(self) -> Set[str]:
        """The guard modes requested of this copy."""
        return {request.guard for request in (*_standing, *_passing)}

    def scopes(self, name: str) -> Set[Optional[str]]:
        """The packages for whose kernels the shim `name` is requested of this copy, None for all."""
        version = triton_text() or ""
        named = [shim for shim in listed() if shim.name == name]
        requests = (*_standing, *_passing)
        return {
            request.scope
            for request in requests
            if any(request.wants(shim, version) for shim in named)
        }

    def failed(self) -> Collection[str]:
        """Names of the shims that this copy cannot apply."""
        return _left_out

    def patches(self, shim: AnyShim, version: str) -> Optional[Patches]:
        """Apply the shim and return its patches; None where that failed, which is reported."""
        patches = Patches(functools.partial(_leave_out, shim, version), shim.name)
        return patches if patches.attempt(_put_in_place, shim, patches) else None

    def record(self, shim: AnyShim) -> Shim:
        """The record of a shim of this copy; the module of one that only waits is imported for it."""
        return load(shim.name) if isinstance(shim, Listed) else shim


def _put_in_place(chosen: AnyShim, patches: Patches) -> None:
    # Most processes never import the interpreter, so the modules of its shims are not imported either.
    if isinstance(chosen, Listed) and chosen.tier == "interpreter":
        if interpreter.waits(patches, functools.partial(_with_interpreter, chosen.name)):
            return
    if isinstance(chosen, Listed) and chosen.waits:
        _when_compiled(patches, functools.partial(load, chosen.name))
        return
    shim = _HERE.record(chosen)
    shim.apply(patches)
    if shim.concerns is not None:
        _when_compiled(patches, lambda: shim)


def _when_compiled(patches: Patches, find: Callable[[], Shim]) -> None:
    # Imported here: a process that installs no such shim needs no seams.
    from .seams.launches import before_first_compilation

    before_first_compilation(patches, find)


def _with_interpreter(name: str, patches: Patches, module: Any) -> None:
    # The function below `once_imported`: the module's code has run, though its import has not ended.
    load(name).apply.__wrapped__(patches, module)  # type: ignore[attr-defined]


_HERE = _Here()
_request = functools.partial(choice.request, known=lambda: listed())


def install(
    guard: str = "auto",
    only: Optional[Iterable[str]] = None,
    exclude: Iterable[str] = (),
    tiers: Optional[Iterable[str]] = None,
    scope: Optional[str] = None,
    untested: bool = False,
    explain: bool = False,
) -> None:
    """Install every shim that this Triton is affected by. Idempotent and thread-safe.

    Calls accumulate: the union of everything requested is installed. To narrow it, call `uninstall` first. A shim that
    fails on this Triton is undone, warned of once (`CompatWarning`) and left out.

    Args:
        guard: ``auto`` compiles a kernel in a forked child only where a known issue may kill the compiler: of this
            release, on this target, by what the kernel does. ``always`` does so for every kernel, ``off`` for none.
        only: names of shims, to install no others; None for all.
        exclude: names of shims that are not requested.
        tiers: kinds of shims, to install no others, of ``names``, ``refused``, ``torch``, ``interpreter`` and
            ``silent``; None for all.
        scope: a package; shims that act on a kernel act on those that are defined in it or below it. Shims that add
            names, and those for torch and the interpreter, still apply to the whole process.
        untested: whether shims that change compiled kernels are installed on a Triton that they were not tested on:
            newer than every column, a nightly, a private build.
        explain: whether an exception that ends the program, or a thread, gets a note with the answer of ``crosswarp
            why`` (Python 3.11 or newer, with all of crosswarp installed). This takes a third of a second when such an
            exception comes, and no time before.

    The environment variable ``CROSSWARP_COMPAT`` takes away from it: ``off``, or ``-NAME,-NAME`` of shims or tiers.

    Raises:
        CompatError: an argument has a value that is not known.
    """
    request = _request(guard, only, exclude, tiers, scope, untested)
    if explain and not choice.read_environment(os.environ.get(choice.ENVIRONMENT, "")).off:
        from .passing import HOOKS

        HOOKS.start()
    with _lock:
        if request not in _standing:
            _standing.append(request)
        _settle()


def uninstall() -> None:
    """Put Triton's own objects back, whoever requested the shims, and stop waiting for Triton's import.

    Requests made of another copy of this library, such as a vendored one, stay: that copy has an `uninstall` too.
    """
    passing = sys.modules.get(f"{__package__}.passing")
    if passing is not None:
        passing.HOOKS.stop()
    with _lock:
        _standing.clear()
        _passing.clear()
        _settle()


@contextlib.contextmanager
def installed(
    guard: str = "auto",
    only: Optional[Iterable[str]] = None,
    exclude: Iterable[str] = (),
    tiers: Optional[Iterable[str]] = None,
    scope: Optional[str] = None,
    untested: bool = False,
) -> Iterator[None]:
    """`install` for the length of a ``with`` block.

    Earlier requests, and those that others make meanwhile (in other threads too), remain in force after the block: it
    takes back only what nobody else wants.
    """
    request = _request(guard, only, exclude, tiers, scope, untested)
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
    """The shims that are installed now, by any copy of this library, in the order in which they were applied."""
    with _lock:
        return [
            applied.copy.record(applied.shim) if hasattr(applied.copy, "record") else applied.shim
            for applied in COMMON.applied
            if applied.shim.name not in applied.copy.failed()
        ]


def left_out() -> Dict[str, str]:
    """The shims that were requested and cannot be applied to this Triton: name, and reason."""
    with _lock:
        return dict(_left_out)


def wanted_shims(
    guard: str,
    version: str,
    only: Optional[Iterable[str]] = None,
    exclude: Iterable[str] = (),
    tiers: Optional[Iterable[str]] = None,
    untested: bool = False,
) -> List[Shim]:
    """The shims to install on Triton `version`: those that it is affected by, the guard's by the `guard` mode."""
    request = _request(guard, only, exclude, tiers, None, untested)
    return [_HERE.record(shim) for shim in listed() if request.wants(shim, version)]


def _forget(request: Request) -> None:
    # Another block may have made the same request: which of the two is removed makes no difference.
    if request in _passing:
        _passing.remove(request)


def _settle() -> None:
    """Bring the applied shims in line with the requests. Called with the lock held."""
    asked = bool(_standing or _passing)
    if asked and _HERE not in COMMON.asking:
        COMMON.asking.append(_HERE)
    if not asked:
        sys.meta_path[:] = [f for f in sys.meta_path if not isinstance(f, _AfterTriton)]
        if _HERE in COMMON.asking:
            COMMON.asking.remove(_HERE)
    triton = sys.modules.get("triton")
    waiting = any(isinstance(finder, _AfterTriton) for finder in sys.meta_path)
    # A half-imported Triton counts as not yet imported: torch may be importing it in this very call. If another thread
    # imports it, that thread will apply the shims: it holds the import lock that we would wait for.
    importing = getattr(getattr(triton, "__spec__", None), "_initializing", False)
    if not COMMON.asking:
        _take_back(0)
    elif triton is None or (importing and (waiting or not hasattr(triton, "jit"))):
        if asked and not waiting:
            sys.meta_path.insert(0, _AfterTriton())
    # A stand-in that a library put there on machines without Triton is not a package.
    elif hasattr(triton, "__path__"):
        _apply()
    if not asked:
        _left_out.clear()


def _apply() -> None:
    version = triton_text()
    if version is None:
        return
    _say_untested(version)
    # Shims wrap each other in their order, so a shim added between is put under the later ones. Not if somebody else's
    # patch lies on ours: ours would stay below it and wrap twice.
    covered = covered_by_others(applied.patches for applied in COMMON.applied)
    wanted = _chosen(version, stay=covered)
    present = [(applied.shim.name, applied.copy) for applied in COMMON.applied]
    same = 0
    while same < min(len(wanted), len(present)) and present[same] == (
        wanted[same][0].name,
        wanted[same][1],
    ):
        same += 1
    if not (covered and set(present) <= {(shim.name, copy) for shim, copy in wanted}):
        _take_back(same)
    in_place = {applied.shim.name for applied in COMMON.applied}
    for shim, copy in wanted:
        if shim.name not in in_place and shim.name not in copy.failed():
            patches = copy.patches(shim, version)
            if patches is not None:
                COMMON.applied.append(_Applied(shim, patches, copy))
    names = [applied.shim.name for applied in COMMON.applied]
    log(f"Triton {version}: installed {len(names)}: {', '.join(names) or 'none'}")


def _say_untested(version: str) -> None:
    """Warn of shims that are not installed because they are untested on this Triton."""
    if read(version).tested:
        return
    requests = [*_standing, *_passing]
    held = [
        shim.name
        for shim in listed()
        if any(request.holds_back(shim, version) for request in requests)
        and not any(request.wants(shim, version) for request in requests)
    ]
    if not held:
        return
    reading = read(version)
    why = (
        f"is newer than {TESTED_UP_TO}, the newest release that was tested"
        if reading.newer
        else f"is no published release, and counts as {reading.release}"
    )
    say_without_raising(
        f"Triton {version[:80]} {why}: names of other releases are added, and {len(held)} other shims stay off, with "
        f"all that change compiled kernels. install(untested=True), or {choice.ENVIRONMENT}=+untested in the "
        "environment, switches them on"
    )


def _chosen(version: str, stay: bool) -> List[Tuple[AnyShim, Any]]:
    """The requested shims of all copies, in order, each with the copy that is to apply it.

    The newest copy that has a shim applies it; of two copies of one release, the one that has more shims, because shims
    of one copy know of each other. `stay`: shims already applied remain with the copy that applied them.
    """
    present = {applied.shim.name: applied for applied in COMMON.applied}
    names = set().union(*(copy.wanted(version) for copy in COMMON.asking))
    ranked = COMMON.asking
    if len(ranked) > 1:
        ranked = sorted(ranked, key=lambda c: (c.version, len(c.shims())), reverse=True)
    chosen: Dict[str, Tuple[AnyShim, Any]] = {}
    for copy in ranked:
        for shim in _listed_by(copy):
            name = shim.name
            applied = present.get(name)
            at_it = applied is not None and applied.copy is copy
            # A copy does not try again a shim that it could not apply.
            if name in names and name not in chosen and (at_it or name not in copy.failed()):
                chosen[name] = (shim, copy)
    if stay:
        chosen.update(
            {name: (applied.shim, applied.copy) for name, applied in present.items() if name in chosen}
        )  # fmt: skip
    # Each copy lists its shims in the order of their names.
    return sorted(chosen.values(), key=lambda entry: entry[0].order)


def _listed_by(copy: Any) -> Iterable[AnyShim]:
    # Breakpoint: a copy older than 2026-11-26 has only records.
    shims: Iterable[AnyShim] = copy.listed() if hasattr(copy, "listed") else copy.shims().values()
    return shims


def _take_back(keep: int) -> None:
    while len(COMMON.applied) > keep:
        COMMON.applied.pop().patches.undo()


def _leave_out(shim: AnyShim, version: str, error: Exception) -> None:
    import traceback

    where = traceback.extract_tb(error.__traceback__)[-1:]
    place = "".join(f", {frame.filename.rpartition('/')[2]}:{frame.lineno}" for frame in where)
    why = f"{type(error).__name__}: {error}{place}"
    _left_out[shim.name] = why
    try:
        symptom = _HERE.record(shim).symptom
    except Exception:
        symptom = "its module cannot be imported"
    say_without_raising(
        f"the shim {shim.name} cannot be applied to Triton {version} and is left out ({why}). Everything else goes on; "
        f"without it you may still see: {symptom}. Please report this line to crosswarp with what "
        f"`python -m crosswarp.compat doctor` says; install(exclude=[{shim.name!r}]) asks for the rest without a word"
    )


class _AfterTriton:
    """A finder on ``sys.meta_path`` that applies the shims as soon as ``import triton`` has run."""

    def __init__(self) -> None:
        self._looking = threading.local()

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        # Asked again below, and by callers that only check whether there is a Triton (torch 2.15 does): stay in place
        # until it really runs.
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
                # The import failed, for example by Ctrl-C: the next one starts from the same state.
                _take_back(0)
                sys.meta_path.insert(0, self)
                raise
