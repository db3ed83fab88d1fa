"""The shims, one file each, named for what they heal; found by their files."""

import functools
import importlib
import pkgutil
from typing import Tuple

from ..record import Shim


@functools.lru_cache(maxsize=None)
def all_shims() -> Tuple[Shim, ...]:
    """Every shim, in the order in which they are applied: by `order`, then by name."""
    names = sorted(module.name for module in pkgutil.iter_modules(__path__))
    shims = [importlib.import_module(f"{__name__}.{name}").SHIM for name in names]
    return tuple(sorted(shims, key=lambda shim: (shim.order, shim.name)))
