"""Known compiler crashes, on disk: one small JSON file a crash, written whole or not at all.

The folder is ``$CROSSWARP_CACHE_DIR``, else ``crosswarp`` in ``$XDG_CACHE_HOME`` or ``~/.cache``. A process without a
home, as in many containers, remembers nothing; all else works as usual.
"""

import functools
import hashlib
import json
import os
import stat
import tempfile
from pathlib import Path
from typing import Any, Dict, NamedTuple, Optional

CACHE_ENV = "CROSSWARP_CACHE_DIR"
# An entry holds 64 KiB of output and a few names.
_LARGEST = 1 << 20


def folder() -> Optional[Path]:
    """The folder of remembered crashes; None where this user has no home."""
    home = _home()
    return None if home is None else home / "crashes"


def lock_folder() -> Optional[Path]:
    """The folder of the locks of those who compile; None where this user has no home."""
    home = _home()
    return None if home is None else home / "locks"


def _home() -> Optional[Path]:
    chosen = os.environ.get(CACHE_ENV)
    if chosen:
        return Path(chosen)
    caches = os.environ.get("XDG_CACHE_HOME")
    if caches:
        return Path(caches) / "crosswarp"
    try:
        return Path.home() / ".cache" / "crosswarp"
    except (RuntimeError, KeyError):
        # No HOME, and no entry of this user in the system's table.
        return None


class Entry(NamedTuple):
    """The memory of one compilation.

    Attributes:
        path: its file; None where nothing can be remembered.
        key: identifies the compilation, in hexadecimal digits.
    """

    path: Optional[Path]
    key: str = ""

    def read(self) -> Optional[Dict[str, str]]:
        """The remembered crash, or None. A file that is foreign, incomplete or too large counts as none."""
        try:
            stored = json.loads("null" if self.path is None else _text_of(self.path))
            crash = {name: str(stored[name]) for name in ("kind", "reason", "stderr")}
            return {"kernel": str(stored["kernel"]), **crash} if "kernel" in stored else crash
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return None

    def write(self, crash: Dict[str, str]) -> None:
        """Remember `crash`. On a full or read-only disk nothing is remembered, and the program goes on."""
        if self.path is None:
            return
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


def _text_of(path: Path) -> str:
    # Reading a pipe or a device would never end.
    fd = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    with os.fdopen(fd, "rb") as file:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            msg = f"{path} is no regular file"
            raise OSError(msg)
        return file.read(_LARGEST).decode("utf-8")


def entry(src: Any, args: tuple, kwargs: dict, variant: str = "") -> Entry:
    """The entry for one call of Triton's ``compile(src, target=, options=)``, in one way to compile it."""
    parts = [_build(), src.hash(), repr(args), variant, _settings()]
    for name, value in sorted(kwargs.items()):
        if name != "_env_vars":
            parts.append(f"{name}={sorted(value.items()) if isinstance(value, dict) else value!r}")
    digest = hashlib.sha256("\n".join(map(str, parts)).encode("utf-8", "replace")).hexdigest()
    place = folder()
    return Entry(None if place is None else place / f"{digest}.json", digest)


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
