"""Text on a terminal of 80 columns, with whatever a cell wrote in its place."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

from crosswarp.reports import escape

WIDTH = 80
_LONGEST_ID = 24


def row(name: str, text: str) -> str:
    return fill(f"    {name:<9} ", escape.line(text))


def wrapped(name: str, text: str) -> str:
    lines: Iterable[str] = [escape.line(line) for line in escape.terminal(text).splitlines()]
    return "\n".join([f"{name}:", *(fill("  ", line) for line in lines if line)])


def fill(prefix: str, text: str) -> str:
    # Addresses and paths stay whole: a link that is cut in two is no link.
    return textwrap.fill(
        text or "-", WIDTH, initial_indent=prefix, subsequent_indent=" " * len(prefix),
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip


def column_id(column: str) -> str:
    """A short column id as it is, a longer one in its parts: cut off, it could read like another."""
    name = escape.line(column)
    if len(name) > _LONGEST_ID:
        name = name.replace("+", "\n+")
    return "\n".join(escape.line(part, _LONGEST_ID) for part in name.split("\n"))
