"""Do once, in the worker, work that every forked child would repeat: 0.3 to 2.8 s an item.

Triton digests its own files (libtriton.so among them) and asks ptxas for its version the first time that a process
compiles, and keeps both in memory. Nothing here changes a result; functions that a version lacks are skipped.
"""

import contextlib
import importlib
import os
import sys
from typing import Any, Dict, Iterable, Mapping, Optional

from crosswarp import compat
from crosswarp.compat import features, launch
from crosswarp.matrix.cell.starting import versions

# module, function (kept by functools.lru_cache in that version), versions
_REMEMBERED = (
    ("triton.common.backend", "get_cuda_version_key"),  # 2.3
    ("triton.compiler.compiler", "triton_key"),  # 3.0 to 3.3
    ("triton.runtime.cache", "triton_key"),  # 3.4 and later
    ("triton.backends.nvidia.compiler", "get_ptxas_version"),
)


# torch.autograd.grad imports this when it first gets gradients: all of sympy, 2.4 s of CPU time with PyTorch 2.3.1, 2.6
# and 2.10, 2.5 s with 2.15.
_OF_GRADIENTS = "torch.fx.experimental.symbolic_shapes"


# Modules that were imported for one library's children alone: library folder -> name -> module.
_set_aside: Dict[str, Dict[str, Any]] = {}


def without_triton(references: bool) -> None:
    """Import torch, and for `references` the modules of a backward: all that does not depend on how Triton is imported.

    A torch that cannot be imported is left to whoever needs it.
    """
    with contextlib.suppress(Exception):
        import torch

        # One process a core: threads of torch inside them only get in each other's way, and do not survive a fork.
        torch.set_num_threads(1)
        if references:
            importlib.import_module(_OF_GRADIENTS)


def warm(
    preload: Optional[Mapping[str, Any]] = None,
    targets: Iterable[Mapping[str, Any]] = (),
) -> None:
    """Fill those caches, and import the modules that children import.

    `targets`: rows of targets.toml, for each of which the back end digests its libraries and asks its assembler.

    `preload` names, for the folder of a library, modules that it imports itself, which takes seconds each time, and
    that hold none of its kernels. Those in the folder wait for `bring_back`, the others stay imported.
    """
    digest()
    # The shims' modules: 45 ms in each shimmed child.
    compat.all_shims()
    with contextlib.suppress(Exception):
        # Reads the compiler's library and asks ptxas, for every item again.
        versions.installed()
    for name in ("sm_90", "sm_80", "gfx942"):
        # The patterns of names that each kernel asks by.
        launch.num_warps(1, name)
    for target in targets:
        with contextlib.suppress(Exception):
            _back_end(target)
    for module in (
        "triton.experimental.gluon",
        # Modules that shims import when they are applied.
        "crosswarp.compat.block_pointers",
        "crosswarp.compat.libdevice_names",
        "crosswarp.compat.old_arguments",
        "crosswarp.compat.old_language",
        "crosswarp.compat.old_methods",
        "packaging.specifiers",
        "elftools.elf.elffile",
        "crosswarp.matrix.cell.kinds.suite.in_child",
        "crosswarp.matrix.cell.emulate",
    ):
        # The item that needs a module reports that it cannot be imported.
        with contextlib.suppress(Exception):
            importlib.import_module(module)
    if preload is not None:
        # Functions that a library leaves to torch.compile are not its kernels, and would be built in C++ for the CPU.
        os.environ["TORCHDYNAMO_DISABLE"] = "1"
    for folder, modules in (preload or {}).items():
        _preload(folder, modules)


def digest() -> None:
    """Have Triton digest its own files, and ask ptxas, now."""
    for module, function in _REMEMBERED:
        with contextlib.suppress(Exception):
            getattr(importlib.import_module(module), function)()


def _back_end(target: Mapping[str, Any]) -> None:
    from triton.compiler.compiler import make_backend

    backend = make_backend(
        features.gpu_target(target["backend"], target["arch"], target["warp_size"])
    )
    backend.hash()
    backend.parse_options({}).hash()


def _preload(folder: str, modules: Any) -> None:
    before = set(sys.modules)
    sys.path.append(folder)
    for module in modules:
        # Each column lacks some; a library that needs it will say so itself.
        with contextlib.suppress(Exception):
            importlib.import_module(module)
    sys.path.remove(folder)
    loaded = set(sys.modules) - before
    # By package: modules that an extension makes itself have no file (tokenizers.decoders).
    packages = {
        name.partition(".")[0]
        for name in loaded
        if str(getattr(sys.modules[name], "__file__", None)).startswith(folder)
    }
    _set_aside[folder] = {
        name: sys.modules.pop(name) for name in loaded if name.partition(".")[0] in packages
    }


def bring_back(folder: str) -> None:
    """In a child that uses the library in `folder`, restore the modules already imported from there."""
    sys.modules.update(_set_aside.get(folder, {}))
