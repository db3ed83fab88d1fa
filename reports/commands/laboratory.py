"""The laboratory, where it is: a checkout has it, and an installed crosswarp has not."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from types import ModuleType


def part(name: str) -> ModuleType | None:
    """The module `name` of its commands, which adds options to a command here; None where there is no laboratory."""
    if find_spec("crosswarp.laboratory") is None:
        return None
    return import_module(f"crosswarp.laboratory.commands.{name}")
