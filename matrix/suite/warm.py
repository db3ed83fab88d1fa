"""Work out once, in the worker, what every forked child would work out again: 0.3 to 0.5 s an item.

Triton digests its own files (libtriton.so among them) and asks ptxas for its version the first time that a process
compiles, and keeps both in memory. Nothing here changes a result; what a version does not have is passed over.
"""

import contextlib
import importlib

# module, function (kept by functools.lru_cache in that version), versions
_REMEMBERED = (
    ("triton.common.backend", "get_cuda_version_key"),  # 2.3
    ("triton.compiler.compiler", "triton_key"),  # 3.0 to 3.3
    ("triton.runtime.cache", "triton_key"),  # 3.4 and later
    ("triton.backends.nvidia.compiler", "get_ptxas_version"),
)


def warm() -> None:
    """Fill those memories, and import what children import."""
    for module, function in _REMEMBERED:
        with contextlib.suppress(Exception):
            getattr(importlib.import_module(module), function)()
    for module in (
        "triton.experimental.gluon",
        "elftools.elf.elffile",
        "crosswarp.matrix.suite.item",
    ):
        with contextlib.suppress(ImportError):
            importlib.import_module(module)
