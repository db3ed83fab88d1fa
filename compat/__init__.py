"""crosswarp.compat: code written for one Triton runs on the others.

    from crosswarp import compat
    compat.install()

Call it before or after ``import triton``; kernels decorated earlier are fixed too. Importing this package imports
neither Triton nor torch. Outside its affected releases a shim changes nothing. A shim that cannot be applied is left
out with a warning, and the others are applied. ``uninstall()`` puts everything back.

``install(only=["compiler_crash"])`` and ``install(exclude=["libdevice_paths"])`` choose shims by name,
``install(tiers=["names", "refused"])`` by what they change, and ``install(scope="mylib")`` limits those that
act on kernels to the kernels of a package. Several libraries of one process may install: each gets what it asked for,
whatever the others left out. ``CROSSWARP_COMPAT=off`` in the environment takes everything off.
"""

from .acts import acted
from .copies import __version__
from .errors import CompatError, CompatWarning, CompilerCrashed
from .explaining import Explanation, explain
from .install import active, install, installed, left_out, uninstall
from .record import Shim
from .shims import all_shims

__all__ = [
    "CompatError",
    "CompatWarning",
    "CompilerCrashed",
    "Explanation",
    "Shim",
    "__version__",
    "acted",
    "active",
    "all_shims",
    "explain",
    "install",
    "installed",
    "left_out",
    "uninstall",
]
