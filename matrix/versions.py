"""Versions as the host meets them: in columns, in records. They are compared in crosswarp.compat.versions."""

from __future__ import annotations

import re

from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version

from crosswarp.compat.versions import base_version, in_window

_IN_COLUMN = re.compile(r"triton-([^+]+)")


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


def same_public(found: str, planned: str) -> bool:
    """Whether what was found is what was planned. A local part (`+cpu`) says how it was built, not what it is."""
    try:
        one, other = Version(found), Version(planned)
    except InvalidVersion:
        return found == planned
    return one == other if other.local else one.public == other.public


def of_column(column: str) -> str | None:
    """The Triton version that a column id names; None for `main`."""
    match = _IN_COLUMN.search(column)
    return match.group(1) if match else None


def sort_key(version: str | None) -> tuple[int, Version]:
    """Oldest first; what has no version (a source build that names none) is newest."""
    release = base(version) if version else None
    return (0, release) if release is not None else (1, Version("0"))
