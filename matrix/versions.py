"""Comparing versions of Triton and torch: the one place of the host side that does it."""

from __future__ import annotations

import re

from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version

_IN_COLUMN = re.compile(r"triton-([^+]+)")


def base(version: str) -> Version | None:
    """The release a version belongs to: nightlies and local builds are decided on it. None if it is no version."""
    try:
        return Version(Version(version).base_version)
    except InvalidVersion:
        return None


def within(version: str | None, window: SpecifierSet) -> bool:
    """Whether `version` lies in `window`. An unknown version lies in none but the window of all versions."""
    release = base(version) if version else None
    if release is None:
        return not str(window)
    # Pre-releases are left out unless asked for, in the window's own bounds too.
    return window.contains(release, prereleases=True)


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
