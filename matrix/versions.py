"""Versions in columns, records and specifiers. The one place of the host that compares them.

crosswarp.compat.versions decides whether one matches a specifier, and whether it passes for the planned one. Two
spellings are one version where PEP 440 says so: `3.8.0+git1A2B` is `3.8.0+git1a2b`, and `2.6` is `2.6.0`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from packaging.specifiers import SpecifierSet
from packaging.version import Version as Version

from crosswarp.compat.vendors import PACKAGES
from crosswarp.compat.versions import as_planned as as_planned
from crosswarp.compat.versions import base_version, in_window

# The packages that a column may replace, in the order of an id.
SWAPPED = ("torch", "numpy", "python")
# How the column of `run --here` begins.
_HERE = "here-"
_IN_COLUMN = re.compile(r"triton-([^+]+)")
_PART = re.compile(rf"\+({'|'.join(SWAPPED)})-")


def parse(text: str | None) -> Version | None:
    """The version that a text spells exactly; None if it is no version."""
    try:
        return Version(text) if text else None
    except ValueError:
        # Not InvalidVersion alone: a number of thousands of digits is none for Python.
        return None


def exact(version: str | None) -> Version:
    """The exact version, which makes a nightly older than its release; a text without a version is oldest."""
    return parse(version) or Version("0")


def same(first: str, other: str) -> bool:
    """Whether two texts name one version, however they are spelled. Other texts equal only themselves."""
    versions = parse(first), parse(other)
    return first == other if None in versions else versions[0] == versions[1]


def public(text: str) -> str:
    """Without the local part (`+cpu`), which names one build of a version."""
    version = parse(text)
    return version.public if version else text


def minor(version: Version) -> str:
    """`3.2` of 3.2.1."""
    return f"{version.major}.{version.minor}"


def base(version: str) -> Version | None:
    """The release a version belongs to, or None if it is no version."""
    try:
        return base_version(version)
    except ValueError:
        return None


def is_window(text: str) -> bool:
    try:
        for part in SpecifierSet(text):
            Version(part.version.removesuffix(".*"))
    except ValueError:
        return False
    return True


def within(version: str | Version | None, window: str) -> bool:
    """Whether `version` matches the specifier `window`. An unknown version matches only an empty one."""
    text = str(version)
    if version is None or base(text) is None:
        return not window.strip()
    return in_window(window, text)


def same_window(first: str, other: str) -> bool:
    """Whether two specifiers say the same, in any order."""
    return SpecifierSet(first) == SpecifierSet(other)


def both(first: str, other: str) -> str:
    """The specifier for the versions that match both."""
    return str(SpecifierSet(first) & SpecifierSet(other))


def bounds(window: str) -> Iterator[tuple[str, Version]]:
    """The parts of a specifier: `>=` with 3.0, `!=` with 3.1 also for `!=3.1.*`."""
    for part in SpecifierSet(window):
        yield part.operator, Version(part.version.removesuffix(".*"))


def leaves_out(window: str, version: Version) -> tuple[str, Version] | None:
    """The first part of `window` that excludes `version`, as `bounds` yields it; None if none does."""
    for part in SpecifierSet(window):
        if not in_window(str(part), str(version)):
            return part.operator, Version(part.version.removesuffix(".*"))
    return None


def of_column(column: str) -> str | None:
    """The Triton version that a column id names; None for `main`."""
    match = _IN_COLUMN.search(column)
    return match.group(1) if match else None


def vendor_of(column: str) -> str:
    """The vendor's build that a column is of, such as ``tokenspeed-triton-3.9.10``; "" where it is Triton's own."""
    return next(
        (column[len(_HERE) :] for name in PACKAGES if column.startswith(f"{_HERE}{name}-")), ""
    )


def split_id(column: str) -> tuple[str, list[tuple[str, str]]]:
    """`triton-3.2.0+torch-2.5.1` as `triton-3.2.0` and the replaced versions: `[("torch", "2.5.1")]`."""
    name, *rest = _PART.split(column)
    return name, list(zip(rest[::2], rest[1::2]))


def swapped(column: str) -> dict[str, str]:
    return dict(split_id(column)[1])


def sort_key(version: str | None) -> tuple[int, Version]:
    """Sorts oldest first; a source build that names no version is newest."""
    release = base(version) if version else None
    return (0, release) if release is not None else (1, Version("0"))
