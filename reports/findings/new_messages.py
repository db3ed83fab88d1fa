"""The messages that a release of Triton adds to the error index, drops from it, or words anew."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher
from pathlib import Path
from typing import NamedTuple

from crosswarp.matrix import versions
from crosswarp.matrix.facts.errors import Message, source
from crosswarp.matrix.versions import Version

# How alike two texts of one file are that are one message, reworded.
_ALIKE = 0.6


class Changes(NamedTuple):
    """Changes of the messages that Python raises, by file and text."""

    added: tuple[tuple[str, str], ...]
    dropped: tuple[tuple[str, str], ...]
    # File, text before, text now.
    reworded: tuple[tuple[str, str, str], ...]


def changes(package: Path, known: Sequence[Message]) -> Changes:
    """The messages of the Triton in the folder `package`, compared with the newest release of the index."""
    python = [message for message in known if message.where.endswith(".py")]
    last = newest(python)
    # The index has a text once, whichever files say it.
    before = {
        message.text: message.where for message in python if versions.exact(message.last) == last
    }
    now = {
        message.text: message.where
        for message in source.messages(package)
        if message.text.strip("{}")
    }
    ever = {message.text for message in python}
    added = {text: where for text, where in now.items() if text not in ever}
    dropped = {text: where for text, where in before.items() if text not in now}
    pairs = [
        (SequenceMatcher(None, old, new).ratio(), old, new)
        for new, place in added.items()
        for old, where in dropped.items()
        if where == place
    ]
    reworded = []
    # Those most alike first: a text has many that resemble it.
    for share, old, new in sorted(pairs, reverse=True):
        if share >= _ALIKE and old in dropped and new in added:
            reworded.append((dropped.pop(old), old, new))
            del added[new]
    return Changes(_sorted(added), _sorted(dropped), tuple(sorted(reworded)))


def newest(known: Sequence[Message]) -> Version:
    """Returns the newest release whose Python messages are known."""
    lasts = {message.last for message in known if message.where.endswith(".py")}
    return max(map(versions.exact, lasts), default=versions.exact(None))


def _sorted(texts: dict[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((where, text) for text, where in texts.items()))
