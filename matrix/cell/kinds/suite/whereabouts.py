"""Whether a case is in Triton's compiler, for its parent to read when the case has died or is late.

A byte that both share, for a process that is killed says nothing any more, and a message would begin its time anew.
"""

import mmap
import os
from typing import Any, Dict

HOST = "host"

# By process, so that workers that were forked from one do not write into the same byte.
_shared: Dict[int, mmap.mmap] = {}


def share() -> None:
    """Create, before the fork, the byte that the children write and this process reads."""
    if os.getpid() not in _shared:
        _shared.clear()
        _shared[os.getpid()] = mmap.mmap(-1, 1)
    _byte()[0] = 0


def watch_compilations() -> None:
    """In the child, after everything else that stands around the compiler."""
    from crosswarp.compat.record import Patches
    from crosswarp.compat.seams.launches import around_compile

    def compiled(compile_: Any, src: Any, args: Any, kwargs: Any) -> Any:
        shared = _byte()
        shared[0] += 1
        try:
            return compile_(src, *args, **kwargs)
        finally:
            shared[0] -= 1

    if _shared:
        around_compile(Patches(), compiled)


def phase() -> str:
    """In the parent: ``compile`` where its child was in the compiler, else `HOST`."""
    return "compile" if _byte()[0] else HOST


def _byte() -> mmap.mmap:
    (shared,) = _shared.values()
    return shared
