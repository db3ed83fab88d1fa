"""Versions as the host meets them: in columns, in records. They are compared in crosswarp.compat.versions."""

from __future__ import annotations

import re

from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version

from crosswarp.compat.versions import as_planned as as_planned
from crosswarp.compat.versions import base_version, in_window

# What a column may have in place of its Triton's own, in the order of an id.
SWAPPED = ("torch", "numpy", "python")
_IN_COLUMN = re.compile(r"triton-([^+]+)")
_PART = re.compile(rf"\+({'|'.join(SWAPPED)})-")


def base(version: str) -> Version | None:
    """The release a version belongs to, or None if it is no version."""
    try:
        return base_version(version)
    except InvalidVersion:
        return None


def within(version: str | None, window: SpecifierSet) -> bool:
    """Whether `version` lies in `window`. An unknown version lies in none but the window of all versions."""
    if version is None or base(version) is None:
        return not str(window)
    return in_window(str(window), version)


def of_column(column: str) -> str | None:
    """The Triton version that a column id names; None for `main`."""
    match = _IN_COLUMN.search(column)
    return match.group(1) if match else None


def split_id(column: str) -> tuple[str, list[tuple[str, str]]]:
    """`triton-3.2.0+torch-2.5.1` as `triton-3.2.0` and what is in place of its own: `[("torch", "2.5.1")]`."""
    name, *rest = _PART.split(column)
    return name, list(zip(rest[::2], rest[1::2]))


def swapped(column: str) -> dict[str, str]:
    return dict(split_id(column)[1])


def sort_key(version: str | None) -> tuple[int, Version]:
    """Oldest first; what has no version (a source build that names none) is newest."""
    release = base(version) if version else None
    return (0, release) if release is not None else (1, Version("0"))
