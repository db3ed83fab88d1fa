"""The shims, one file each, named for what they heal; found by their files.

A record's window that has no end ends with the newest release that was tested (`versions.TESTED_UP_TO`).
"""

import functools
import importlib
import os
import pkgutil
from typing import Any, NamedTuple, Optional, Tuple, Union

from ..record import Shim
from ..versions import bounded


class Listed(NamedTuple):
    """The fields of a record by which shims are chosen: a host needs few of the modules, and each takes time to import.

    Attributes:
        name, window, tier, order: as in `Shim`.
        changes: whether the record has any.
    """

    name: str
    window: str
    tier: str
    order: int
    changes: bool


@functools.lru_cache(maxsize=None)
def listed() -> Tuple[Union[Listed, Shim], ...]:
    """Every shim, in the order in which they are applied, by `order` and then by name; most modules not imported."""
    names = (module.name for module in pkgutil.iter_modules(__path__))
    shims = [_read(name) or load(name) for name in names]
    return tuple(sorted(shims, key=lambda shim: (shim.order, shim.name)))


@functools.lru_cache(maxsize=None)
def load(name: str) -> Shim:
    """The record of the shim `name`, whose module is imported for it."""
    shim: Shim = importlib.import_module(f"{__name__}.{name}").SHIM
    return shim._replace(window=bounded(shim.window))


@functools.lru_cache(maxsize=None)
def all_shims() -> Tuple[Shim, ...]:
    """Every shim, in the order in which they are applied: by `order`, then by name."""
    return tuple(load(shim.name) for shim in listed())


def _read(name: str) -> Optional[Listed]:
    """A shim's fields from the text of its record; None where the text is not there, or has them in another form."""
    loader: Any = __spec__.loader
    try:
        text = loader.get_data(os.path.join(os.path.dirname(__file__), f"{name}.py")).decode()
    except (AttributeError, OSError, ValueError):
        return None
    record = text[text.rfind("\nSHIM = Shim(") :]
    window, tier = _text_of(record, "window"), _text_of(record, "tier")
    order = _after(record, "order") or "0"
    if not window or not tier or not order.lstrip("-").isdigit():
        return None
    return Listed(name, bounded(window), tier, int(order), _after(record, "changes") is not None)


def _text_of(record: str, field: str) -> str:
    value = _after(record, field) or ""
    return value[1:-1] if value[:1] == value[-1:] == '"' and value.count('"') == 2 else ""


def _after(record: str, field: str) -> Optional[str]:
    _, found, rest = record.partition(f"\n    {field}=")
    return rest.partition("\n")[0].rstrip("\r").rstrip(",") if found else None
