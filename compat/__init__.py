"""crosswarp.compat: code written for one Triton runs on the others.

    from crosswarp import compat
    compat.install()

Call it before or after ``import triton``; kernels decorated earlier are healed too. Importing this package imports
neither Triton nor torch. On a Triton outside a shim's window that shim changes nothing at all. ``uninstall()`` puts
everything back.
"""

from .errors import CompatError, CompatWarning, CompilerCrashed
from .install import acted, active, install, installed, uninstall
from .record import Shim
from .shims import all_shims

__all__ = [
    "CompatError",
    "CompatWarning",
    "CompilerCrashed",
    "Shim",
    "acted",
    "active",
    "all_shims",
    "install",
    "installed",
    "uninstall",
]
