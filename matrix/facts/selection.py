"""Choosing entries by glob. A name or glob that chooses nothing is an error: a matrix that runs nothing looks green."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from crosswarp.matrix.errors import UsageError


def split(texts: Iterable[str]) -> list[str]:
    """`["a,b", "c"]` as given on a command line to `["a", "b", "c"]`."""
    parts = [part.strip() for text in texts for part in text.split(",") if part.strip()]
    if not parts:
        raise UsageError(
            "an empty selection chooses nothing. Name something, or leave the option out."
        )
    return parts


def choose(wanted: Sequence[str], names: Sequence[str], what: str, listing: str) -> list[str]:
    """The names that match any of `wanted`, in the order of `names`. `listing` is the command that shows them all."""
    chosen: set[str] = set()
    for glob in wanted:
        found = [name for name in names if glob == "all" or fnmatchcase(name, glob)]
        if not found:
            close = difflib.get_close_matches(glob, names, n=3)
            hint = f" Did you mean {', '.join(close)}?" if close else ""
            raise UsageError(f'no {what} matches "{glob}".{hint} {listing}')
        chosen.update(found)
    return [name for name in names if name in chosen]
