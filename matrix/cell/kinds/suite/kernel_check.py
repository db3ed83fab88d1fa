"""Check a suite's KERNEL before anything of it runs, and name each field that is wrong.

It looks at objects of a stranger's module, so it runs where that module was imported: in a forked child.
"""

from collections import Counter
from typing import Any, Iterator, List, Mapping, Tuple

from crosswarp.kernels.case import DTYPES, FEATURES, LANES, Case, Kernel

MOST = 8
# How the names of targets (matrix/facts/targets.toml), and globs for them, begin.
_TARGETS = ("sm_", "gfx", "*", "?", "[")


def problems(kernel: Any, may_be_empty: bool = False, name: str = "") -> List[str]:
    """Return the errors of `kernel`, each as ``field: what, and what to write``; none if it can be run.

    Args:
        kernel: the object that a module calls KERNEL.
        name: of its file, by which records and options name it; empty where that does not matter.
        may_be_empty: whether a kernel without cases is one (of a library that has none of its ops).
    """
    every = list(_kernel(kernel, may_be_empty, name))
    left = len(every) - MOST
    return [*every[:MOST], f"and {left} more"] if left > 0 else every


def cases_in(kernel: Kernel, lane: str) -> List[Tuple[str, Tuple[str, ...]]]:
    """Ids and target globs of its cases in a lane, of Python's own types: they go to another process."""
    return [(case.id, tuple(case.targets)) for case in kernel.cases if lane in case.lanes]


def _kernel(kernel: Any, may_be_empty: bool, file: str) -> Iterator[str]:
    if not isinstance(kernel, Kernel):
        yield f"KERNEL: {_a(kernel)}: make it a crosswarp.kernels.Kernel"
        return
    yield from _text("name", kernel.name)
    if file and type(kernel.name) is str and kernel.name != file:
        yield (
            f"name: {kernel.name!r}, and its file is {file}.py, for which records name it: make both the same"
        )
    # Where nothing is computed, nothing is compared.
    compiled = all(
        list(_listed(getattr(case, "lanes", ()))) == ["compile"] for case in _listed(kernel.cases)
    )
    optional = {"inputs": True, "launch": False, "reference": compiled}
    for name, may_lack in optional.items():
        function = getattr(kernel, name)
        if not callable(function) and not (function is None and may_lack):
            hint = ', or its cases lanes=("compile",)' if name == "reference" else ""
            yield f"{name}: {_a(function)}: give a function{hint}"
    yield from _probes(kernel.probes)
    yield from _words("uses", kernel.uses, _features(kernel))
    yield from _tolerances("tolerance", kernel.tolerance)
    if not isinstance(kernel.tolerance_on, Mapping):
        yield f"tolerance_on: {_a(kernel.tolerance_on)}: map families of targets to tolerances"
    else:
        for family, tolerances in kernel.tolerance_on.items():
            yield from _text("tolerance_on", family)
            yield from _tolerances(f"tolerance_on[{family!r}]", tolerances)
    if not isinstance(kernel.cases, (tuple, list)):
        yield f"cases: {_a(kernel.cases)}: give a tuple of Case"
        return
    if not kernel.cases and not may_be_empty:
        yield "cases: there is none, so nothing would run: give it one"
    for number, case in enumerate(kernel.cases):
        yield from _case(f"cases[{number}]", case, kernel)
    ids = Counter(
        case.id for case in kernel.cases if isinstance(case, Case) and type(case.id) is str
    )
    for name, count in ids.items():
        if count > 1:
            yield f"cases: {count} have the id {name!r}: give each its own"


def _case(where: str, case: Any, kernel: Kernel) -> Iterator[str]:
    if not isinstance(case, Case):
        yield f"{where}: {_a(case)}: make it a crosswarp.kernels.Case"
        return
    if type(case.id) is str and case.id.isprintable():
        where = f"{where} ({case.id})"
    yield from _text(f"{where}: id", case.id)
    if case.dtype not in DTYPES:
        yield f"{where}: dtype: {case.dtype!r} is none of {', '.join(DTYPES)}"
    elif isinstance(kernel.tolerance, Mapping) and case.dtype not in kernel.tolerance:
        # The compile lane compares nothing.
        if set(_listed(case.lanes)) != {"compile"}:
            yield (
                f"{where}: there is no tolerance for {case.dtype}: add one to KERNEL.tolerance, or give the case "
                'lanes=("compile",)'
            )
    for name in ("shape", "options"):
        value = getattr(case, name)
        if not isinstance(value, Mapping):
            yield f"{where}: {name}: {_a(value)}: give a dict"
        elif not all(type(key) is str for key in value):
            yield f"{where}: {name}: not all of its keys are text"
    yield from _words(f"{where}: lanes", case.lanes, LANES, empty="nothing would run")
    yield from _words(f"{where}: requires", case.requires, _features(kernel))
    yield from _words(f"{where}: targets", case.targets, empty="no target would run it")
    for target in _listed(case.targets):
        if type(target) is str and not target.startswith(_TARGETS):
            yield f"{where}: targets: {target!r} matches no target: write sm_90, gfx942, sm_* or *"


def _probes(value: Any) -> Iterator[str]:
    if not isinstance(value, Mapping):
        yield f"probes: {_a(value)}: map names of features to functions"
        return
    for name, probe in value.items():
        yield from _text("probes", name)
        if name in FEATURES:
            yield f"probes: {name!r} is one of crosswarp's: give it another name"
        if not callable(probe):
            yield f"probes[{name!r}]: {_a(probe)}: give a function that says why the feature is lacking"


def _features(kernel: Kernel) -> Tuple[str, ...]:
    own = kernel.probes if isinstance(kernel.probes, Mapping) else {}
    return (*FEATURES, *(name for name in own if type(name) is str))


def _words(where: str, value: Any, known: Tuple[str, ...] = (), empty: str = "") -> Iterator[str]:
    if isinstance(value, str):
        yield f"{where}: {value!r} is one text, not a tuple of them: write ({value!r},), with the comma"
        return
    if not isinstance(value, (tuple, list)):
        yield f"{where}: {_a(value)}: give a tuple of texts"
        return
    if not value and empty:
        yield f"{where}: there is none, so {empty}: leave it out, or name some"
    for word in value:
        if type(word) is not str or not word:
            yield f"{where}: it holds {_a(word)}: give texts"
        elif known and word not in known:
            yield f"{where}: {word!r} is none of {', '.join(known)}"


def _text(where: str, value: Any) -> Iterator[str]:
    if type(value) is not str:
        yield f"{where}: {_a(value)}: give a text"
    elif not value or not value.isprintable():
        yield f"{where}: {value!r}: give a text of printable characters"


def _tolerances(where: str, value: Any) -> Iterator[str]:
    if not isinstance(value, Mapping):
        yield f"{where}: {_a(value)}: map dtypes to numbers"
        return
    for dtype, number in value.items():
        if dtype not in DTYPES:
            yield f"{where}: {dtype!r} is none of {', '.join(DTYPES)}"
        # NaN is not above 0 either.
        elif isinstance(number, bool) or not isinstance(number, (int, float)) or not number >= 0:
            yield f"{where}[{dtype!r}]: {number!r} is no number of 0 or more"


def _listed(value: Any) -> Any:
    return value if isinstance(value, (tuple, list)) else ()


def _a(value: Any) -> str:
    return f"{value!r:.60} is a {type(value).__name__}" if value is not None else "it is None"
