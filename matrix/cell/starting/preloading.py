"""Import a suite's dependencies once a worker instead of once a child: saves seconds an item for most libraries.

A child that imports a library pays for all that the library imports. Most of these modules do not depend on Triton
(torch's own modules, sympy, transformers), and are the same in each mode and on each target. Modules that do depend on
Triton also depend on mode and target: they hold names that a shim replaces, kernels that were decorated for one GPU, or
answers of a GPU. So a child imports one of a suite's modules and classifies the modules by their contents. Another
child tries whether they can be imported without the others. Only then does a worker import them, and never a suite's
own modules.
"""

import contextlib
import functools
import importlib
import os
import sys
import threading
import time
from types import ModuleType
from typing import Any, Dict, Iterable, List, Optional, Sequence, Set

from crosswarp.compat.isolate import run_isolated
from crosswarp.matrix.cell.plain import attribute

# Modules that take less are left to the children.
WORTH_SECONDS = 0.2
_SECONDS = 120
_ROUNDS = 6
_LOOKED_INTO = 200
# A module that asks these when it is imported keeps an answer that differs on the next target.
_QUESTIONS = (
    "is_available", "device_count", "current_device", "get_device_name", "get_device_capability",
    "get_device_properties", "init",
)  # fmt: skip


class Watch:
    """From its making on: which modules are imported, and how long that takes."""

    def __init__(self) -> None:
        self._before = set(sys.modules)
        self._began = time.perf_counter()

    def imported(self, never: Sequence[str]) -> List[str]:
        """The modules that a worker may import as well, in the order in which they came; none if it is not worth it.

        `never`: folders whose modules are not among them.
        """
        if time.perf_counter() - self._began < WORTH_SECONDS:
            return []
        new = [name for name in list(sys.modules) if name not in self._before]
        clinging = _clinging(new)
        return [
            name
            for name in new
            if not _or_its_parents(name, clinging) and _can_be_found(name, never)
        ]


def _can_be_found(name: str, never: Sequence[str]) -> bool:
    """Whether the module is one that its name alone leads to, and lies in none of these folders."""
    module = sys.modules.get(name)
    spec = attribute(module, "__spec__")
    origin = attribute(spec, "origin")
    if type(module) is not ModuleType or attribute(spec, "name") != name or type(origin) is not str:
        return False
    return not name.startswith("crosswarp") and not any(
        origin.startswith(os.path.join(folder, "")) for folder in never
    )


def _clinging(names: Iterable[str]) -> Set[str]:
    """Those of the modules that hold something of Triton's, or of another one that does."""
    owners = {name: _owners(sys.modules.get(name)) for name in names}
    clinging = {name for name, of in owners.items() if _triton(name) or any(map(_triton, of))}
    while True:
        more = {name for name, of in owners.items() if name not in clinging and of & clinging}
        if not more:
            return clinging
        clinging |= more


def _triton(name: str) -> bool:
    return name == "triton" or name.startswith("triton.")


def _owners(module: Any) -> Set[str]:
    """Return the modules that a module's contents come from: values, their classes, and the members of lists."""
    owners: Set[str] = set()
    held = attribute(module, "__dict__")
    for value in list(held.values()) if type(held) is dict else ():
        owners |= _owner(value)
        if type(value) in (list, tuple, set, frozenset):
            for element in list(value)[:_LOOKED_INTO]:
                owners |= _owner(element)
        elif type(value) is dict:
            for member in list(value.values())[:_LOOKED_INTO]:
                owners |= _owner(member)
    return owners


def _owner(value: Any) -> Set[str]:
    modules = [type(value).__module__]
    modules.append(attribute(value, "__name__" if isinstance(value, ModuleType) else "__module__"))
    return {module for module in modules if type(module) is str}


def _or_its_parents(name: str, among: Set[str]) -> bool:
    parts = name.split(".")
    return any(".".join(parts[:count]) in among for count in range(1, len(parts) + 1))


def safe(names: Sequence[str], memory_limit_mb: Optional[int] = None) -> List[str]:
    """Those of the modules that a child could import, leaving nothing behind that clings. Forks, several times."""
    left = list(dict.fromkeys(names))
    for _ in range(_ROUNDS):
        if not left:
            return []
        outcome = run_isolated(
            functools.partial(_wrong, left), time_limit=_SECONDS, memory_limit_mb=memory_limit_mb
        )
        wrong = outcome.value if outcome.kind == "returned" else None
        if not isinstance(wrong, list) or not all(type(name) is str for name in wrong):
            # It dies, hangs, or says something else: each child is to find that out for itself.
            return []
        if not wrong:
            return left
        left = [name for name in left if not _or_its_parents(name, set(wrong))]
    return []


def _wrong(names: Sequence[str], send: Any) -> List[str]:
    """Return the modules that must not be imported here.

    It stops at the first that leaves something behind, because that would affect the next ones.
    """
    asked: List[str] = []
    _record_questions(asked)
    wrong = []
    for name in names:
        before, environ, running = set(sys.modules), dict(os.environ), threads()
        try:
            importlib.import_module(name)
        except BaseException:
            wrong.append(name)
            continue
        new = [module for module in list(sys.modules) if module not in before]
        if asked or _clinging(new) or dict(os.environ) != environ or threads() != running:
            # Its package may be at fault, which came along.
            return [*wrong, name, *(other for other in names if other in new)]
    return wrong


def _record_questions(asked: List[str]) -> None:
    import torch

    def recording(name: str, own: Any) -> Any:
        def ask(*args: Any, **kwargs: Any) -> Any:
            asked.append(name)
            return own(*args, **kwargs)

        return ask

    for name in _QUESTIONS:
        own = getattr(torch.cuda, name, None)
        if own is not None:
            setattr(torch.cuda, name, recording(name, own))


def threads() -> int:
    """How many this process has. A forked child has none of them, and may wait for one for ever."""
    with contextlib.suppress(OSError):
        return len(os.listdir("/proc/self/task"))
    return threading.active_count()


def load(names: Sequence[str]) -> Dict[str, str]:
    """Import them here; returns those that fail, each with why, which the children will meet for themselves."""
    failed = {}
    for name in names:
        try:
            importlib.import_module(name)
        except Exception as error:
            failed[name] = type(error).__name__
    return failed
