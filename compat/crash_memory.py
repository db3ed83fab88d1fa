"""What is known to kill the compiler, on disk: one small JSON file a crash, written whole or not at all.

The folder is ``$CROSSWARP_CACHE_DIR``, else ``crosswarp`` in ``$XDG_CACHE_HOME`` or ``~/.cache``.
"""

import functools
import hashlib
import json
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, Optional

CACHE_ENV = "CROSSWARP_CACHE_DIR"


def folder() -> Path:
    """Where crashes are remembered."""
    return _home() / "crashes"


def lock_folder() -> Path:
    """Where the locks are of those who compile."""
    return _home() / "locks"


def _home() -> Path:
    chosen = os.environ.get(CACHE_ENV)
    if chosen:
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "crosswarp"


@dataclass(frozen=True)
class Entry:
    """The memory of one compilation."""

    path: Path

    def read(self) -> Optional[Dict[str, str]]:
        """What is remembered, or None. A file that is not ours or not whole counts as nothing."""
        try:
            found = json.loads(self.path.read_text("utf-8"))
            return {key: str(found[key]) for key in ("kind", "reason", "stderr")}
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def write(self, crash: Dict[str, str]) -> None:
        """Remember `crash`. A full or read-only disk costs the memory, never the program."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=self.path.parent, suffix=".tmp")
            try:
                with os.fdopen(handle, "w", encoding="utf-8") as file:
                    json.dump(crash, file)
                os.replace(name, self.path)
            except BaseException:
                os.unlink(name)
                raise
        except OSError:
            return


def entry(src: Any, args: tuple, kwargs: dict, variant: str = "") -> Entry:
    """The entry for one call of Triton's ``compile(src, target=, options=)``, in one way to compile it."""
    parts = [_build(), src.hash(), repr(args), variant, _settings()]
    for name, value in sorted(kwargs.items()):
        if name != "_env_vars":
            parts.append(f"{name}={sorted(value.items()) if isinstance(value, dict) else value!r}")
    digest = hashlib.sha256("\n".join(map(str, parts)).encode("utf-8", "replace")).hexdigest()
    return Entry(folder() / f"{digest}.json")


def _settings() -> str:
    """The variables of the environment that Triton itself puts into the key of its cache."""
    import triton._C.libtriton as library

    # Breakpoint: Triton 3.0 renamed and moved the function.
    for owner in (library, getattr(library, "triton", None)):
        for name in ("get_cache_invalidating_env_vars", "get_env_vars"):
            if hasattr(owner, name):
                return repr(sorted(getattr(owner, name)().items()))
    return ""


@functools.lru_cache(maxsize=None)
def _build() -> str:
    """Which Triton this is: a version is no identity, so the size and date of its compiled part count as well."""
    import triton
    import triton._C

    parts = [triton.__version__]
    for place in triton._C.__path__:
        for library in sorted(Path(place).glob("libtriton*")):
            state = library.stat()
            parts.append(f"{library.name}:{state.st_size}:{state.st_mtime_ns}")
    return " ".join(parts)
