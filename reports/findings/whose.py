"""Whose kernels a run is of: what to do about a failure depends on it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def whose(plan: Mapping[str, Any]) -> str:
    """``library`` where a run is of a library's own tests, ``suite`` where it is of a user's kernels, else nothing."""
    if plan.get("library"):
        return "library"
    return "suite" if plan.get("suite") else ""
