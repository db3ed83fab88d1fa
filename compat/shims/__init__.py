"""The shims, one file each, named for the bugs that they fix; found by their files.

A record's window that has no end ends with the newest release that was tested (`versions.TESTED_UP_TO`).
"""

import functools
import importlib
import os
import pkgutil
from typing import Iterable, NamedTuple, Tuple, Union

from ..record import Shim
from ..versions import bounded


class Listed(NamedTuple):
    """The fields of a record by which shims are chosen: a host needs few of the modules, and each takes time to import.

    Attributes:
        name, window, tier, order: as in `Shim`.
        changes: whether the record has any.
        waits: it replaces nothing at installation, and is only asked about kernels that are compiled.
    """

    name: str
    window: str
    tier: str
    order: int
    changes: bool
    waits: bool


@functools.lru_cache(maxsize=None)
def listed() -> Tuple[Union[Listed, Shim], ...]:
    """Every shim, in the order in which they are applied, by `order` and then by name; most modules not imported."""
    from ..listing import LISTING

    known = {fields[0]: Listed(*fields) for fields in LISTING}
    # Another copy may lack some of the modules, and may have more.
    shims = [known.get(name) or load(name) for name in _names()]
    return tuple(sorted(shims, key=lambda shim: (shim.order, shim.name)))


def _names() -> Iterable[str]:
    try:
        # A third of the time of `pkgutil`, which also searches in places other than folders.
        files = [name for name in os.listdir(os.path.dirname(__file__)) if name.endswith(".py")]
    except OSError:
        files = []
    names = {name[:-3] for name in files} or {
        module.name for module in pkgutil.iter_modules(__path__)
    }
    return names - {"__init__"}


@functools.lru_cache(maxsize=None)
def load(name: str) -> Shim:
    """The record of the shim `name`, whose module is imported for it."""
    shim: Shim = importlib.import_module(f"{__name__}.{name}").SHIM
    return shim._replace(window=bounded(shim.window))


@functools.lru_cache(maxsize=None)
def all_shims() -> Tuple[Shim, ...]:
    """Every shim, in the order in which they are applied: by `order`, then by name."""
    return tuple(load(shim.name) for shim in listed())


def in_list(shim: Shim) -> Listed:
    """The shim's row of the list that `crosswarp docs` writes."""
    waits = shim.concerns is not None and shim.apply is Shim._field_defaults["apply"]
    return Listed(shim.name, shim.window, shim.tier, shim.order, bool(shim.changes), waits)
