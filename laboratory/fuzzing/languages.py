"""The part of Triton's language that a program may use: names that all its releases have, from the language table."""

from __future__ import annotations

from collections.abc import Iterable

from crosswarp.matrix import versions
from crosswarp.matrix.facts.language_table import PASS, Release, Table

# The probes' own target.
_TARGET = "sm_90"


def common(table: Table, releases: Iterable[str]) -> frozenset[str]:
    """Returns the names and options that each of `releases` has and compiles. A release missing from the table counts
    as its nearest lower neighbour."""
    found: frozenset[str] | None = None
    for one in releases:
        has = _of(table[nearest(table, one)])
        found = has if found is None else found & has
    return found or frozenset()


def nearest(table: Table, release: str) -> str:
    """The newest release of the table that is no newer than `release`; its oldest where none is."""
    base = versions.base(release)
    older = [one for one in table if base is not None and versions.within(one, f"<={base}")]
    return older[-1] if older else next(iter(table))


def _of(release: Release) -> frozenset[str]:
    passes = {name: places.get(_TARGET) == PASS for name, places in release.probes.items()}
    return frozenset(
        [name for name in release.names if passes.get(name, True)]
        + [name for name, passes in passes.items() if passes]
    )
