"""Whether a release matches a specifier of plain numbers (`>=3.0,<3.3`, `==3.2.*`), with the answers of versions.py.

For `crosswarp why`: importing packaging and crosswarp.compat takes longer than its answer. Versions with more than
numbers go to versions.py; a test compares the two.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from typing import Any

_PLAIN = re.compile(r"(?:0|[1-9]\d{0,5})(?:\.(?:0|[1-9]\d{0,5})){0,5}", re.A)
_CLAUSE = re.compile(r"\s*(==|!=|>=|<=|>|<)\s*([\d.]+?)(\.\*)?\s*", re.A)
_COMPARED: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq, "!=": operator.ne, ">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt,
}  # fmt: skip


def numbers(text: str) -> tuple[int, ...] | None:
    """`(3, 2, 0)` of `3.2.0`; None for a text with more than numbers, or no version."""
    return tuple(map(int, text.split("."))) if _PLAIN.fullmatch(text) else None


def within(version: str, window: str) -> bool:
    """Whether `version` matches the specifier `window`."""
    inside = _within(version, window)
    if inside is not None:
        return inside
    from crosswarp.matrix import versions

    return versions.within(version, window)


def _within(version: str, window: str) -> bool | None:
    release = numbers(version)
    if release is None or not window:
        return None
    inside = True
    for clause in window.split(","):
        match = _CLAUSE.fullmatch(clause)
        wanted = numbers(match[2]) if match else None
        if match is None or wanted is None or match[3] and match[1] not in ("==", "!="):
            return None
        length = len(wanted) if match[3] else max(len(release), len(wanted))
        inside = inside and _COMPARED[match[1]](_padded(release, length), _padded(wanted, length))
    return inside


def _padded(release: tuple[int, ...], length: int) -> tuple[int, ...]:
    return (*release, *(0,) * length)[:length]
