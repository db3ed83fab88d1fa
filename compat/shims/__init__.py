"""The shims, one file each, named for what they heal; found by their files.

A record's window that has no end ends with the newest release that was tested (`versions.TESTED_UP_TO`).
"""

import functools
import importlib
import os
import pkgutil
import re
from typing import Any, Iterable, NamedTuple, Optional, Tuple, Union

from ..record import Shim
from ..versions import bounded

_FIELD = re.compile(r"^    (window|tier|order|changes|concerns|apply)=(.*?),?\s*$", re.MULTILINE)


class Listed(NamedTuple):
    """The fields of a record by which shims are chosen: a host needs few of the modules, and each takes time to import.

    Attributes:
        name, window, tier, order: as in `Shim`.
        changes: whether the record has any.
        waits: it replaces nothing by itself, and is asked of kernels that are compiled.
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
    shims = [_read(name) or load(name) for name in _names()]
    return tuple(sorted(shims, key=lambda shim: (shim.order, shim.name)))


def _names() -> Iterable[str]:
    try:
        # A third of the time of `pkgutil`, which knows other places than folders too.
        files = [name for name in os.listdir(os.path.dirname(__file__)) if name.endswith(".py")]
    except OSError:
        files = []
    found = {name[:-3] for name in files} - {"__init__"}
    return found or {module.name for module in pkgutil.iter_modules(__path__)}


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
        source = loader.get_data(os.path.join(os.path.dirname(__file__), f"{name}.py"))
        text = source[source.rfind(b"\nSHIM = Shim(") :].decode()
    except (AttributeError, OSError, ValueError):
        return None
    fields = dict(reversed(_FIELD.findall(text)))
    window, tier = _unquoted(fields.get("window", "")), _unquoted(fields.get("tier", ""))
    order = fields.get("order", "0")
    if not window or not tier or not order.lstrip("-").isdigit():
        return None
    waits = "concerns" in fields and "apply" not in fields
    return Listed(name, bounded(window), tier, int(order), "changes" in fields, waits)


def _unquoted(value: str) -> str:
    return value[1:-1] if value[:1] == value[-1:] == '"' and value.count('"') == 2 else ""
