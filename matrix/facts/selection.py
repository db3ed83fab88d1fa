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


def column_id(text: str, names: Iterable[str] = ()) -> str:
    """`triton-3.2.0` for `3.2.0` (and `triton-3.*` for `3.*`), unless `3.2.0` is itself one of `names`."""
    return f"triton-{text}" if text[:1].isdigit() and text not in names else text


def by_likeness(text: str, names: Sequence[str]) -> list[str]:
    """All names, those first that look most like `text`."""
    wanted = text.lower()
    return sorted(
        names, key=lambda name: -difflib.SequenceMatcher(None, wanted, name.lower()).ratio()
    )


def choose(wanted: Sequence[str], names: Sequence[str], what: str, listing: str) -> list[str]:
    """The names that match any of `wanted`, in the order of `names`. `listing` is the command that shows them all."""
    chosen: set[str] = set()
    for glob in wanted:
        matching = [name for name in names if glob == "all" or fnmatchcase(name, glob)]
        if not matching:
            close = difflib.get_close_matches(glob, names, n=3)
            hint = f" Did you mean {', '.join(close)}?" if close else ""
            raise UsageError(f'no {what} matches "{glob}".{hint} {listing}')
        chosen.update(matching)
    return [name for name in names if name in chosen]
