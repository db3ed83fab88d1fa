"""Which shims have changed something in this process. They say so themselves: one may be installed and never be met."""

from __future__ import annotations

from typing import List

from .copies import COMMON
from .seams.compilation import note_traced


def acted() -> List[str]:
    """Names of the shims that have acted in this process, sorted."""
    return sorted(COMMON.acted)


def note_acted(name: str) -> None:
    """Notes that the shim `name` has acted. Costs a dictionary's entry: a launch may call it."""
    COMMON.acted[name] = COMMON.acted.get(name, 0) + 1
    note_traced(name)
