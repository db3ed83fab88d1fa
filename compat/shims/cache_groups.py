"""Two processes that compile the same kernel at once can leave a binary of the one with the metadata of the other.

What belongs to a kernel in Triton's cache is a group of files, and a list of them. Each file is replaced as a whole,
the group is not: whoever loads it while, or after, two have written may get shared memory, warps and scratch of one
compilation for the code of another, and then wrong numbers or NaN without a word. With the shim each writer keeps its
files in a separate folder, and the list, written last, names one folder's. Lists without the shim are read as before,
and bare Triton reads these. Where it can, the folder holds links, so the cache does not grow.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
from typing import Any, Dict, Optional

from ..record import Patches, Shim

_FOLDER = "grp."


def apply(patches: Patches) -> None:
    from triton.runtime.cache import FileCacheManager

    # Breakpoint: none yet, 3.9.0 writes so. Delete when Triton publishes a group as a whole.
    put, put_group = FileCacheManager.put, FileCacheManager.put_group
    get_group = FileCacheManager.get_group

    @functools.wraps(put)
    def put_and_keep(self: Any, data: Any, filename: str, binary: bool = True) -> str:
        # Kept until the group is written: another process may have replaced the file by then. As text, because later
        # passes change the module.
        text = data if isinstance(data, bytes) else str(data)
        vars(self).setdefault("_crosswarp_put", {})[filename] = text
        # MLIR prints a module once.
        return put(self, data if binary else text, filename, binary)

    @functools.wraps(put_group)
    def put_own_group(self: Any, filename: str, group: Dict[str, str]) -> str:
        stored = vars(self).pop("_crosswarp_put", {})
        if not self.cache_dir or any(name not in stored for name in group):
            # A manager with its own way of writing.
            return put_group(self, filename, group)
        folder = os.path.join(self.cache_dir, f"{_FOLDER}{os.urandom(16).hex()}")
        os.makedirs(folder)
        for name in group:
            own = os.path.join(folder, name)
            _store(stored[name], group[name], own)
            # Triton loads the kernel that it has just compiled from here.
            group[name] = own
        return put(self, json.dumps({"child_paths": group}), f"__grp__{filename}", binary=False)

    @functools.wraps(get_group)
    def get_own_group(self: Any, filename: str) -> Optional[Dict[str, str]]:
        listed = self.get_file(f"__grp__{filename}")
        if listed is None:
            return None
        try:
            with open(listed) as file:
                paths = json.load(file).get("child_paths")
        except (OSError, ValueError):
            return get_group(self, filename)
        ours = isinstance(paths, dict) and all(_FOLDER in str(path) for path in paths.values())
        if not ours:
            return get_group(self, filename)
        return dict(paths) if all(map(os.path.exists, paths.values())) else None

    patches.set(FileCacheManager, "put", put_and_keep)
    patches.set(FileCacheManager, "put_group", put_own_group)
    patches.set(FileCacheManager, "get_group", get_own_group)


def _store(wanted: Any, shared: str, own: str) -> None:
    """Put the text or bytes `wanted` at `own`: as a link to the file at `shared`, if that is still the same."""
    mode = "b" if isinstance(wanted, bytes) else ""
    with contextlib.suppress(OSError, UnicodeDecodeError):
        os.link(shared, own)
        with open(own, "r" + mode) as file:
            if file.read() == wanted:
                return
    # The file is another's, or links are not possible here. A linked file is never written to, but left to its owner.
    with contextlib.suppress(FileNotFoundError):
        os.unlink(own)
    with open(own, "w" + mode) as file:
        file.write(wanted)


SHIM = Shim(
    name="cache_groups",
    issue="triton-11319",
    tier="silent",
    window=">=2.3",
    symptom="NaN or wrong numbers from a TRITON_CACHE_DIR that several processes share",
    link="https://github.com/triton-lang/triton/pull/11319",
    delete_when="Triton publishes the files of a kernel as a whole, and no column before that is left",
    apply=apply,
)
