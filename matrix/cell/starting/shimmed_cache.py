"""Triton's cache of kernels compiled with the shims: it reuses those of bare Triton, and never the reverse.

A shim may compile a kernel that bare Triton refuses, under the same key: the key covers the kernel, not the compiler's
front end. With a common cache the next run without compat would use such a kernel, and pass where Triton fails.
"""

import contextlib
import os
from pathlib import Path

from triton.runtime.cache import FileCacheManager

NAME = f"{__name__}:ShimmedCache"
# Where bare Triton's is.
BARE_ENV = "CROSSWARP_BARE_CACHE_DIR"


def use() -> None:
    """From now on this process, and those that it starts, compile with the shims."""
    bare = Path(os.environ["TRITON_CACHE_DIR"])
    os.environ[BARE_ENV] = str(bare)
    os.environ["TRITON_CACHE_DIR"] = str(bare / "shimmed")
    os.environ["TRITON_CACHE_MANAGER"] = NAME


class ShimmedCache(FileCacheManager):
    """Triton's cache manager with a separate folder, which starts with links to bare Triton's complete kernels."""

    def __init__(self, key, override=False, dump=False):
        super().__init__(key, override=override, dump=dump)
        if override or dump or any(Path(self.cache_dir).iterdir()):
            return
        bare = Path(os.environ[BARE_ENV], key)
        # Triton writes the list of a kernel's files last; an entry without .json files needs no list.
        with contextlib.suppress(OSError):
            files = [path for path in bare.iterdir() if path.is_file()]
            if not any(path.suffix == ".json" for path in files) or any(
                path.name.startswith("__grp__") for path in files
            ):
                for path in files:
                    os.link(path, Path(self.cache_dir, path.name))
