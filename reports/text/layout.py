"""Text on a terminal of 80 columns, with whatever a cell wrote in its place."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence

from crosswarp.reports.text import escape

WIDTH = 80
_LONGEST_ID = 24


# The most characters in one row: a message may be a megabyte, and its beginning says the most.
LONGEST = 1200
# A longer word is not an address or path that anybody would copy.
_LONGEST_WORD = 400


def row(name: str, text: str) -> str:
    return fill(f"    {name:<9} ", escape.line(text, LONGEST))


def tight(heads: Sequence[str], rows: Sequence[Sequence[str]], left: int) -> str:
    """A table as narrow as its contents (tabulate widens its heads): `left` columns of text, then numbers."""
    widths = [max(map(len, column)) for column in zip(heads, *rows)]
    lines = [heads, ["-" * width for width in widths], *rows]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if place < left else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(line, widths))
        ).rstrip()
        for line in lines
    )


def side_by_side(
    head: str,
    names: Sequence[str],
    rows: Sequence[tuple[str, Sequence[str]]],
    longest: int,
    gap: int,
) -> list[str]:
    """A table of signs: a column for each of `names`, in as many blocks as the terminal's width requires.

    Args:
        rows: a name and its signs, one for each of `names`.
        longest: a longer name gets a separate line; cut off, it could read like another.
        gap: spaces between two columns.
    """
    widths = [max(2, len(name)) for name in names]
    first = min(max([len(head), *(len(name) for name, _ in rows)]), longest)
    # At least one column, however long its name.
    most = max((WIDTH - first) // (max(widths, default=2) + gap), 1)
    lines = []
    for begin in range(0, len(names), most):
        some = slice(begin, begin + most)
        lines += ["", _signs(head, names[some], first, widths[some], gap)]
        for name, signs in rows:
            if len(name) > first:
                lines.append(name)
                name = ""
            lines.append(_signs(name, signs[some], first, widths[some], gap))
    return lines


def _signs(name: str, cells: Sequence[str], first: int, widths: Sequence[int], gap: int) -> str:
    padded = [cell.ljust(width) for cell, width in zip(cells, widths)]
    return (" " * gap).join([name.ljust(first), *padded]).rstrip()


def wrapped(name: str, text: str) -> str:
    whole = escape.terminal(escape.middle(text, LONGEST))
    lines: Iterable[str] = [escape.line(line) for line in whole.splitlines()]
    return "\n".join([f"{name}:", *(fill("  ", line) for line in lines if line)])


def fill(prefix: str, text: str, whole: bool = True) -> str:
    """`whole`: whether a long word with a slash may stick out, so that it can be copied."""
    text = " ".join(_words(text, WIDTH - len(prefix), whole))
    # Addresses and paths stay whole: a link cut in two does not work.
    return textwrap.fill(
        text or "-", WIDTH, initial_indent=prefix, subsequent_indent=" " * len(prefix),
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip


def plural(count: int, what: str) -> str:
    """`1 kernel`, `2 kernels`, `1,200 cells`."""
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


def column_id(column: str) -> str:
    """A short column id as it is, a longer one in its parts: cut off, it could read like another."""
    name = escape.line(column)
    if len(name) > _LONGEST_ID:
        name = name.replace("+", "\n+")
    return "\n".join(escape.line(part, _LONGEST_ID) for part in name.split("\n"))


def _words(text: str, room: int, whole: bool) -> Iterable[str]:
    for word in text.split(" "):
        if len(word) <= room or (whole and "/" in word and len(word) <= _LONGEST_WORD):
            yield word
        else:
            yield from textwrap.wrap(word, room, break_on_hyphens=False)
