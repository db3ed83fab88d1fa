"""The messages that a release of Triton adds to the error index, drops from it, or words anew."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher
from pathlib import Path
from typing import NamedTuple

from crosswarp.matrix.facts.errors import Message, source

# How alike two texts of one file are that are one message, reworded.
_ALIKE = 0.6


class Changes(NamedTuple):
    """Of the messages that Python raises, by file and text."""

    added: tuple[tuple[str, str], ...]
    dropped: tuple[tuple[str, str], ...]
    # File, text before, text now.
    reworded: tuple[tuple[str, str, str], ...]


def changes(package: Path, known: Sequence[Message]) -> Changes:
    """The messages of the Triton in the folder `package`, compared with the newest release of the index."""
    python = [one for one in known if one.where.endswith(".py")]
    newest = max((_key(one.last) for one in python), default=())
    # The index has a text once, whichever files say it.
    before = {one.text: one.where for one in python if _key(one.last) == newest}
    now = {one.text: one.where for one in source.messages(package) if one.text.strip("{}")}
    ever = {one.text for one in python}
    added = {text: where for text, where in now.items() if text not in ever}
    dropped = {text: where for text, where in before.items() if text not in now}
    reworded = []
    for text, where in list(dropped.items()):
        near = [one for one, place in added.items() if place == where]
        ratios = [(SequenceMatcher(None, text, one).ratio(), one) for one in near]
        share, best = max(ratios, default=(0.0, ""))
        if share >= _ALIKE:
            reworded.append((where, text, best))
            del added[best], dropped[text]
    return Changes(_sorted(added), _sorted(dropped), tuple(reworded))


def _sorted(texts: dict[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((where, text) for text, where in texts.items()))


def _key(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdigit())
