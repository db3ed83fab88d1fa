"""Several copies of this library in one process: an installed one, and those that libraries have vendored.

Each copy has its own modules and knows what was asked of it. State that a process may hold only once is in `COMMON`,
an entry of ``sys.modules`` that the first copy makes: the lock, the requests, the shims applied and their order, the
warnings given. Older and newer copies read it too, so names are added to it and never changed.
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
    """State shared by all copies.

    Attributes:
        lock: held while the requests or the applied shims change. The other locks are for less, so that importing the
            interpreter never waits for a thread that applies shims.
        asking: the copies with a request now (`install._Here`), in the order of the requests.
        applied: the shims that are applied (`install._Applied`), in order, whichever copy applied them.
        waiting: functions that apply the interpreter's shims when it is imported.
        finder: the finder that waits for that import, or None.
        acted: how often each shim has acted.
        said: warnings already given.
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
    """The first copy's class of this name: catching one copy's exception then catches every copy's."""
    return cast(_Class, COMMON.classes.setdefault(kind.__name__, kind))
