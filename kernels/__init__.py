"""The kernel suite: one file a kernel, each with launcher, PyTorch reference and cases.

Importing this package imports neither torch nor Triton; `load` does.
"""

import importlib
from pathlib import Path
from typing import Tuple

from crosswarp.kernels.case import Case, Kernel

__all__ = ["KNOWN_ISSUES", "NAMES", "SUITE", "Case", "Kernel", "load"]


# modules in this folder that are no kernels
_OTHERS = ("__init__", "case", "gluon_import", "tlx_import")


def _discover(folder: Path) -> Tuple[str, ...]:
    return tuple(sorted(path.stem for path in folder.glob("*.py") if path.stem not in _OTHERS))


# read from the file list: a kernel that cannot be imported in some column still has a name to report
SUITE = _discover(Path(__file__).parent)
# each shows one upstream issue
KNOWN_ISSUES = _discover(Path(__file__).parent / "known_issues")
NAMES = SUITE + KNOWN_ISSUES


def load(name: str) -> Kernel:
    """Import one kernel module and return its KERNEL."""
    if name not in NAMES:
        msg = f"no kernel named {name!r}; choose one of: {', '.join(NAMES)}"
        raise KeyError(msg)
    folder = "crosswarp.kernels.known_issues" if name in KNOWN_ISSUES else "crosswarp.kernels"
    return importlib.import_module(f"{folder}.{name}").KERNEL
