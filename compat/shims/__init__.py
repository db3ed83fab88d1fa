"""The shims, one file each, named for what they heal; found by their files.

A record's window that has no end ends with the newest release that was tested (`versions.TESTED_UP_TO`).
"""

import functools
import importlib
import pkgutil
from typing import Tuple

from ..record import Shim
from ..versions import bounded


@functools.lru_cache(maxsize=None)
def all_shims() -> Tuple[Shim, ...]:
    """Every shim, in the order in which they are applied: by `order`, then by name."""
    names = sorted(module.name for module in pkgutil.iter_modules(__path__))
    shims = [importlib.import_module(f"{__name__}.{name}").SHIM for name in names]
    shims = [shim._replace(window=bounded(shim.window)) for shim in shims]
    return tuple(sorted(shims, key=lambda shim: (shim.order, shim.name)))
