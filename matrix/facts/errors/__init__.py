"""The error index: messages of Triton and the software around it, with their causes and remedies.

One TOML file a kind, written by people; `models.py` checks them and writes compiled.json, which is read here.
messages.json has every message of Triton's releases, by first and last release, for errors without an entry. Needs
nothing beyond Python 3.11.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

FOLDER = Path(__file__).parent
COMPILED = FOLDER / "compiled.json"
MESSAGES = FOLDER / "messages.json"
# The output of each example on each release, by tests/proofs/error_examples.py.
PROVEN = FOLDER / "proven.json"

_WORD = re.compile(r"[a-z0-9_]+")
# A word that goes on, or a dotted name.
_JOINED = re.compile(r"[a-z0-9_]\.?[a-z0-9_]")
_QUOTES = str.maketrans("", "", "'\"`\u2018\u2019\u201c\u201d\\")
_PLACE = re.compile(r"\{[nw]?\}")
_PLACES = {"{}": ".{0,200}?", "{n}": r"\d+", "{w}": r"[\w.<>\[\]*]+"}
# How many of its rarest words are looked for before the expression.
ANCHORS = 3


# The longest text in which `{n}` and `{w}` are looked for; `{}` stands for 200 characters.
_PLACE_LENGTH = 250


@dataclass(frozen=True)
class Cause:
    """One cause of an error, with the texts in a log that point to it, and where it is possible."""

    why: str
    do: str
    code: str = ""
    # An expression that is found in the log where this is the cause.
    log: str = ""
    # The releases of Triton and torch that can have it, and the targets; empty: any.
    triton: str = ""
    torch: str = ""
    targets: tuple[str, ...] = ()
    # The known issue that it is.
    issue: str | None = None
    # Its `log` is enough to be certain of it.
    decides: bool = False


@dataclass(frozen=True)
class Entry:
    """One error, in all its wordings."""

    id: str
    kind: str
    title: str
    causes: tuple[Cause, ...]
    # The fact that decides between the causes.
    ask: str = ""
    meaning: str = ""
    links: tuple[str, ...] = ()
    # Only with a frame of Triton's, inductor's or a library that is known for it.
    framed: bool = False
    # Something else failed before it.
    consequence: bool = False
    # It says only that something failed: a more specific entry for the same failure replaces it.
    wrapper: bool = False
    # Whose it is, where it is not Triton's.
    foreign: str = ""
    # Known issues and others say the same: never certain.
    shared: bool = False
    # Nobody but Triton says so: no frame is asked for.
    own: bool = False
    # Its one cause was right in every post of the text.
    sure: bool = False
    # The language table says more where it knows the name.
    table: bool = False
    # Kernel statements, or a script: one with the error, and the corrected one.
    bad: str = ""
    good: str = ""


class Wording(NamedTuple):
    # The number of the entry, or of the message, in the order of the file.
    number: int
    # With `{}` for anything, in the form that `tidy` makes.
    text: str
    # The releases that say so; empty: any.
    triton: str
    anchors: Sequence[str]

    @property
    def weight(self) -> int:
        """How many characters must be there."""
        return len(_PLACE.sub("", self.text))

    def find(self, text: str) -> Iterator[tuple[int, int]]:
        """Where it occurs in a tidy text, in whole words."""
        if "{" in self.text:
            yield from self._find_open(text)
            return
        at = text.find(self.text)
        while at >= 0:
            end = at + len(self.text)
            if not (_JOINED.match(text, end - 1) or at and _JOINED.match(text, at - 1)):
                yield at, end
            at = text.find(self.text, end)

    def _find_open(self, text: str) -> Iterator[tuple[int, int]]:
        """With places: the longest fixed part is looked for, which is quick, and the expression around it alone."""
        # A `{}` at the beginning would match text before the message.
        template = self.text[2:] if self.text.startswith("{} ") else self.text
        part, before, after = _longest_part(template)
        expression, at, done = _expression(template), text.find(part), 0
        while at >= 0:
            end = at + len(part) + after
            match = expression.search(text, max(done, at - before), end)
            if match:
                yield match.span()
                done = match.end()
            at = text.find(part, max(done, at + len(part)))


class Message(NamedTuple):
    """A message in Triton's source that has no entry."""

    text: str
    where: str
    exception: str
    first: str
    last: str
    # The condition of the message: an expression of Python, or `X is raised`; "" where it is not known.
    condition: str
    # It says too little where its file is not named as well.
    thin: int


class Topic(NamedTuple):
    """Words by which people name an error in a title, where they do not quote the message."""

    # The number of the entry, in the order of the file.
    number: int
    # Expressions that are all found in a tidy text, in whichever order.
    parts: Sequence[str]


@dataclass(frozen=True)
class Index:
    entries: Sequence[Entry]
    wordings: Sequence[Wording]
    messages: Sequence[Message]
    message_wordings: Sequence[Wording]
    topics: Sequence[Topic] = ()

    @cached_property
    def by_word(self) -> dict[str, list[tuple[Wording, bool]]]:
        """The wordings by their rarest word, each with whether it is a message of the source."""
        by_anchor: dict[str, list[tuple[Wording, bool]]] = {}
        for wordings, of_source in ((self.wordings, False), (self.message_wordings, True)):
            for wording in wordings:
                by_anchor.setdefault(wording.anchors[0], []).append((wording, of_source))
        return by_anchor


def tidy(text: str) -> str:
    """Returns one spelling for a text from terminals, shells and `repr`: lower case, no quotes, single spaces."""
    return " ".join(text.replace("\\n", " ").translate(_QUOTES).lower().split())


def words(text: str) -> list[str]:
    """Those of a tidy text."""
    return _WORD.findall(text)


def whole_words(template: str) -> list[str]:
    """The words of a tidy template that nothing can be added to."""
    marked = _PLACE.sub("\0", template)
    long_words = re.findall(r"(?<![\0a-z0-9_])[a-z0-9_]{3,}(?![\0a-z0-9_])", marked)
    return list(dict.fromkeys(long_words))


@lru_cache(maxsize=None)
def _longest_part(template: str) -> tuple[str, int, int]:
    """The longest part of a template without places, and how much may stand before it and behind it."""
    parts = _PLACE.split(template)
    number = max(range(len(parts)), key=lambda place: len(parts[place]))
    before = sum(map(len, parts[:number])) + number * _PLACE_LENGTH + 1
    after = sum(map(len, parts[number + 1 :])) + (len(parts) - 1 - number) * _PLACE_LENGTH + 2
    return parts[number], before, after


@lru_cache(maxsize=None)
def _expression(template: str) -> re.Pattern[str]:
    made, at = [], 0
    for place in _PLACE.finditer(template):
        made += [re.escape(template[at : place.start()]), _PLACES[place[0]]]
        at = place.end()
    # A word that goes on, or a dotted name, is another one.
    begin = r"(?<![a-z0-9_])" if re.match(r"[a-z0-9_]", template) else ""
    end = r"(?!\.?[a-z0-9_])" if re.search(r"[a-z0-9_]$", template) else ""
    return re.compile("".join([begin, *made, re.escape(template[at:]), end]))


@lru_cache(maxsize=1)
def committed() -> Index:
    """The index that crosswarp ships."""
    document = json.loads(COMPILED.read_text(encoding="utf-8"))
    stored = json.loads(MESSAGES.read_text(encoding="utf-8"))["messages"]
    messages = [Message._make(row[:7]) for row in stored]
    return Index(
        [_entry(row) for row in document["errors"]],
        [Wording._make(row) for row in document["says"]],
        messages,
        [Wording(n, row[7], "", row[8]) for n, row in enumerate(stored) if row[8]],
        [Topic._make(row) for row in document["topics"]],
    )


def _entry(record: dict[str, Any]) -> Entry:
    fields = _plain(record)
    fields["causes"] = tuple(Cause(**_plain(cause)) for cause in record["causes"])
    return Entry(**fields)


def _plain(record: dict[str, Any]) -> dict[str, Any]:
    return {n: tuple(value) if isinstance(value, list) else value for n, value in record.items()}
