"""Several copies of this library in one process: an installed one, and those that libraries have vendored.

Each copy has modules of its own and knows what was asked of it. What there must be one of in a process lies in
`COMMON`, an entry of ``sys.modules`` that the first copy makes: the lock, who asks, what is applied and in which order,
what was said. Every copy reads it, also one that is older or newer, so names are added to it and never changed.
"""

from __future__ import annotations

import re
import sys
import threading
import types
from typing import Any, Dict, List, Optional, Set, Type, TypeVar, cast

# The one place of the number: pyproject.toml reads it here, without importing. Of several copies that have a shim, the
# newest applies it.
__version__ = "0.1.0"
VERSION = tuple(map(int, re.findall(r"\d+", __version__)[:3]))

_NAME = "_crosswarp_compat"
_Class = TypeVar("_Class", bound=type)


class _Common(types.ModuleType):
    """What the copies share.

    Attributes:
        lock: held by whoever changes who asks or what is applied. The others are for less than that, so that nobody
            who imports the interpreter waits for somebody who applies.
        asking: the copies of which something is asked now (`install._Here`), in the order in which they were asked.
        applied: the shims that are applied (`install._Applied`), in order, whichever copy applied them.
        waiting: what the shims of the interpreter do when it is imported.
        finder: what waits for that import, or None.
        acted: how often each shim has acted.
        said: what was warned of.
        classes: exceptions and warnings, by name.
    """

    def __init__(self) -> None:
        super().__init__(_NAME, "What the copies of crosswarp.compat in this process share.")
        self.lock = threading.RLock()
        self.interpreter_lock = threading.RLock()
        self.said_lock = threading.RLock()
        self.asking: List[Any] = []
        self.applied: List[Any] = []
        self.waiting: List[Any] = []
        self.finder: Optional[Any] = None
        self.acted: Dict[str, int] = {}
        self.said: Set[str] = set()
        self.classes: Dict[str, Type[Any]] = {}


COMMON = cast(_Common, sys.modules.setdefault(_NAME, _Common()))


def the_same_for_all(kind: _Class) -> _Class:
    """The first copy's class of this name: who catches an exception of one copy catches that of each."""
    return cast(_Class, COMMON.classes.setdefault(kind.__name__, kind))
