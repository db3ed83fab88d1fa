"""Which fixes act on a kernel: remembered in memory, and beside Triton's own cache for the next process."""

import hashlib
import json
import threading
from pathlib import Path
from typing import Any, Dict, FrozenSet, List, NamedTuple, Optional, Tuple

from .compilation import Act, Compilation, Fix, under
from .key import revisions

_FILE = "crosswarp.json"
_MOST = 10_000


class Decision(NamedTuple):
    """The fixes that act on a kernel, and each one's changes as far as they were seen."""

    names: FrozenSet[str]
    acts: Tuple[Act, ...] = ()


_lock = threading.Lock()
_known: Dict[str, Decision] = {}


def identity(src: Any, args: Any, kwargs: Any, fixes: Tuple[Fix, ...]) -> str:
    """Of one compilation: the kernel, its target and options, and the fixes that may act, with their revisions."""
    with under(Compilation()):
        own = src.hash()
    options = sorted((kwargs.get("options") or {}).items(), key=str)
    parts = [own, repr(args), str(kwargs.get("target")), repr(options), revisions(fixes), _triton()]
    return hashlib.sha256("\n".join(parts).encode("utf-8", "replace")).hexdigest()


def _triton() -> str:
    import triton

    return str(triton.__version__)


def find(identity: str) -> Optional[Decision]:
    """The decision of this process or an earlier one; None if there is none."""
    decision = _known.get(identity)
    if decision is None:
        decision = _read(identity)
        if decision is not None:
            _put(identity, decision)
    return decision


def keep(identity: str, decision: Decision) -> None:
    """Remember it; if it cannot be written, only for this process."""
    # Texts are large, and needed only with the kernel.
    decision = Decision(decision.names, tuple(Act(act.fix, act.lines) for act in decision.acts))
    if _known.get(identity) == decision:
        return
    _put(identity, decision)
    content = {
        "names": sorted(decision.names),
        "acts": [[act.fix, list(act.lines)] for act in decision.acts],
    }
    try:
        _manager(identity).put(json.dumps(content), _FILE, binary=False)
    except Exception:
        # A full or read-only disk costs the next process another look, and this one nothing.
        return


def _put(identity: str, decision: Decision) -> None:
    with _lock:
        if len(_known) >= _MOST:
            _known.clear()
        _known[identity] = decision


def _read(identity: str) -> Optional[Decision]:
    try:
        path = _manager(identity).get_file(_FILE)
        if path is None:
            return None
        content = json.loads(Path(path).read_bytes()[:100_000])
        acts: List[Act] = [Act(str(fix), tuple(map(str, lines))) for fix, lines in content["acts"]]
        return Decision(frozenset(map(str, content["names"])), tuple(acts))
    except Exception:
        # No home, no right to read, or an incomplete file: as if nothing had been decided.
        return None


def _manager(identity: str) -> Any:
    from triton.runtime.cache import get_cache_manager

    return get_cache_manager(identity)
