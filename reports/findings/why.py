"""`crosswarp why`: the known issues that match an error's text, the likeliest first.

An issue matches in two ways. Its fingerprint matches the text's fingerprint, computed as for a cell; then the text is
that error. Or most words of one of its texts are close together in it, in any spelling of quotes and colons; then it is
probably that one. A word counts for more the fewer issues have it: `reshapeOuts` for more than `argument`.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from crosswarp.matrix import plain_versions
from crosswarp.matrix.cell.judging import fingerprint
from crosswarp.matrix.facts.known_texts import ANYTHING, Fix, Known, texts, written_out
from crosswarp.matrix.printable import printable

# Characters read from the end of a log, where the failure is.
LONGEST = 20_000_000
# Prefixes that a CI, a launcher or pytest adds to a line.
FRONT = re.compile(
    r"^(?:\s+|E {2,}|>+ |\[[^\]\n]{1,40}\]:?|\(\w[^)\n]{0,40}\)|\d{4}-\d\d-\d\d[T ][\d:.,]+(?:Z|[+-]\d\d:?\d\d)?"
    r"|\d\d:\d\d:\d\d(?:[.,]\d+)?|(?:ERROR|FATAL|WARNING|INFO|FAILED|stderr|stdout)\b[:|]?|\|)\s*"
)
CUT = re.compile(rf"\w{ANYTHING}")
OPEN = re.compile(rf"\w*{ANYTHING}\w*")
_MODULE = re.compile(r"\btl\.")
# In every failure, or in every sentence.
IDLE = frozenset(
    "a an and are assertionerror at by error errors exception failed for from in is it keyerror of on or raised that "
    "the to was with".split()
)
_APOSTROPHE = re.compile(r"(?<=\w)'(?=\w)")
_LETTERS = re.compile(r"[A-Za-z_]+")
WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|\d+")
# A message is folded at the width of somebody's terminal.
_FOLDED = 3
# The least share of a text's words, by weight, that must be present; for a short question, of its words in an issue.
_MOST_OF_IT = 0.72
_ALL_BUT = 0.8
_MOST_OF_ITS_RAREST = 0.75
_SHORT = 14
_LONGEST_LINE = 4000
_REGEX_LINE = 20_000
# Words that crosswarp uses for its own kernels' failures: elsewhere they mean another kernel's failure.
OURS = re.compile(r"mismatch:|\^?SIG[A-Z]+")


@dataclass(frozen=True)
class Match:
    issue: Known
    shim: Fix | None
    # The fingerprint matched, or only the words are alike.
    exact: bool
    # Between 0 and 1: how much of the issue's text was there.
    share: float
    # The matching line, as given.
    line: str
    # Whether the named Triton is an affected release; None: none was named.
    inside: bool | None = None


@dataclass(frozen=True)
class _Text:
    issue: int
    words: frozenset[str]
    weight: float
    # Its rarest words: a text without any of them is skipped.
    anchors: frozenset[str]


def why(
    text: str, issues: Sequence[Known], shims: Sequence[Fix], triton: str | None = None
) -> list[Match]:
    """Returns the issues that explain `text`, best first; empty if none do. Those that affect `triton` come first."""
    lines = _lines(text)
    finder = _finder(tuple(issues), tuple(shims))
    finder.forget()
    best: dict[int, tuple[bool, float, float, str]] = {}
    for number, candidate in (*finder.by_fingerprint(lines), *finder.by_words(lines)):
        if number not in best or candidate[:3] > best[number][:3]:
            best[number] = candidate
    by_name = {shim.name: shim for shim in shims}
    interpreted = "interpret" in text[-LONGEST:].lower()
    made = []
    for number, (exact, share, weight, line) in best.items():
        issue = issues[number]
        inside = plain_versions.within(triton, issue.triton) if triton else None
        # An interpreter issue ranks last unless the text mentions the interpreter: usually the compiler is meant.
        elsewhere = tuple(issue.lanes) == ("interpret",) and not interpreted
        match = Match(issue, by_name.get(issue.shim or ""), exact, round(share, 3), line, inside)
        over = issue.status == "no longer reproduces"
        made.append(((inside is False, over, not exact, -share, -weight, elsewhere, number), match))
    return [match for _, match in sorted(made, key=lambda pair: pair[0])]


def _lines(text: str) -> list[str]:
    """Returns the lines without colours and prefixes; empty ones are left out."""
    text = printable(text[-LONGEST:].replace("\r\n", "\n").replace("\r", "\n"))
    made = []
    for line in text.split("\n"):
        before = None
        while before != line:
            before, line = line, FRONT.sub("", line, count=1)
        if line.strip():
            made.append(line.rstrip())
    return made


def _spelled(text: str) -> tuple[str, ...]:
    """It, and where a word has an apostrophe as it is after all quotes are lost: `writer's`, and `writers`."""
    joined = _APOSTROPHE.sub("", text)
    return (text,) if joined == text else (text, joined)


def words_of(text: str) -> list[str]:
    text = _MODULE.sub("triton.language.", text)
    return [word for match in WORD.findall(text) if (word := match.lower()) not in IDLE]


def _any(parts: Sequence[str], text: str) -> bool:
    """Whether `text` contains one of the parts; without parts, unknown counts as yes."""
    return not parts or any(part in text for part in parts)


@lru_cache(maxsize=None)
def _compiled(expression: str) -> re.Pattern[str]:
    return re.compile(expression)


@lru_cache(maxsize=4)
def _finder(issues: tuple[Known, ...], shims: tuple[Fix, ...]) -> Finder:
    return Finder(issues, shims)


class Finder:
    def __init__(self, issues: Sequence[Known], shims: Sequence[Fix]) -> None:
        self.issues = issues
        self.listed = [
            # A word with an open part does not count.
            (number, words_of(OPEN.sub(" ", spelled)), not CUT.search(text))
            for number, issue in enumerate(issues)
            for text in (*texts(issue, shims), issue.title)
            for spelled in _spelled(text)
        ]
        self._words: dict[str, list[str]] = {}
        # Which issues have a word, and which have a fingerprint that no text says.
        self.having: dict[str, set[int]] = defaultdict(set)
        for number, words, _ in self.listed:
            for word in words:
                self.having[word].add(number)
        self.unread = {
            number
            for number, known in enumerate(issues)
            if known.fingerprint and not written_out(known.fingerprint)
        }
        # The longest word of each text that a fingerprint stands for: where it is missing, nothing is compiled.
        self.parts = [
            [
                max(_LETTERS.findall(text), key=len, default="")
                for text in written_out(known.fingerprint)
            ]
            for known in issues
        ]
        self.weights = {
            word: math.log(1 + len(issues) / len(having)) for word, having in self.having.items()
        }
        # A word that no issue has; a number that none has says nothing.
        self.strange = math.log(1 + len(issues) / 4)
        self.rare = {word for word, having in self.having.items() if len(having) <= 2}
        # By id and by shim.
        self.names = {issue.id.lower(): [number] for number, issue in enumerate(issues)}
        for number, issue in enumerate(issues):
            if issue.shim:
                self.names.setdefault(issue.shim.lower(), []).append(number)
        # Where the text's own word is open (`create_…`), the rest is too vague.
        self.texts = [
            self._text(number, words) for number, words, whole in self.listed if words and whole
        ]
        self.at: Mapping[str, list[_Text]] = self._index()

    def _text(self, number: int, words: Iterable[str]) -> _Text:
        words_asked = frozenset(words)
        weight = math.fsum(self.weights[word] for word in words_asked)
        rarest = max(self.weights[word] for word in words_asked)
        anchors = frozenset(word for word in words_asked if self.weights[word] >= 0.9 * rarest)
        return _Text(number, words_asked, weight, anchors)

    def _index(self) -> Mapping[str, list[_Text]]:
        by_word: dict[str, list[_Text]] = defaultdict(list)
        for text in self.texts:
            for word in text.anchors:
                by_word[word].append(text)
        return by_word

    def forget(self) -> None:
        """The lines of another text."""
        self._words.clear()

    def _split(self, line: str) -> list[str]:
        """Its words; a log says the same again and again."""
        if line not in self._words:
            self._words[line] = words_of(line[:_LONGEST_LINE])
        return self._words[line]

    def _weight(self, words: Iterable[str]) -> float:
        return math.fsum(self.weights.get(word, 0.0) for word in words)

    def by_fingerprint(
        self, lines: Sequence[str]
    ) -> Iterator[tuple[int, tuple[bool, float, float, str]]]:
        """Yields fingerprints that match the text as it is, or the fingerprint that a cell would have made of it."""
        # A compiler's message may take several lines.
        mark = fingerprint.of_output("\n".join(lines))
        everything = set().union(*map(self._split, lines))
        heard = [self._may_say(issue, everything) for issue in self.issues]
        whole = "\n".join((mark, *lines))
        alive = {
            number
            for number, parts in enumerate(self.parts)
            if heard[number] and self.issues[number].fingerprint and _any(parts, whole)
        }
        for line in dict.fromkeys((mark, *lines)) if alive else ():
            words = set(self._split(line))
            wanted = self.unread.union(*(self.having.get(word, ()) for word in words)) & alive
            tidy = ""
            for number in sorted(wanted):
                if not _any(self.parts[number], line):
                    continue
                tidy = tidy or fingerprint.of_text(line)
                pattern = _compiled(self.issues[number].fingerprint)
                hit = pattern.search(line[:_REGEX_LINE]) or pattern.search(tidy)
                if hit:
                    # More of the issue's words in that line is the better match of two.
                    mine = (text for text in self.texts if text.issue == number)
                    shares = [self._weight(text.words & words) / text.weight for text in mine]
                    weight = self._weight(set(words_of(hit[0])))
                    yield number, (True, max(shares, default=1.0), weight, line)

    def _may_say(self, issue: Known, words: set[str]) -> bool:
        """Whether the issue's text can be evidence: crosswarp's own wording counts only beside such a kernel."""
        if not OURS.match(issue.fingerprint):
            return True
        return any(kernel.lower() in words for kernel in issue.kernels)

    def by_words(
        self, lines: Sequence[str]
    ) -> Iterator[tuple[int, tuple[bool, float, float, str]]]:
        """Yields issue texts most of whose words are in one line, or in a few consecutive ones."""
        split = list(map(self._split, lines))
        seen: set[tuple[str, ...]] = set()
        for start in range(len(lines)):
            wanted = {
                id(text): text for word in set(split[start]) for text in self.at.get(word, ())
            }
            # The rarest word may be in any of the lines that a message was folded into.
            around = slice(max(0, start - _FOLDED + 1), start + _FOLDED)
            if not wanted or (here := (lines[start], *lines[around])) in seen:
                continue
            seen.add(here)
            near = set().union(*split[around])
            for known in wanted.values():
                if not self._may_say_words(known, near):
                    continue
                share = self._weight(known.words & near) / known.weight
                rarest = self._weight(known.anchors & near) / self._weight(known.anchors)
                if share >= _MOST_OF_IT and rarest >= _MOST_OF_ITS_RAREST:
                    weight = self._weight(known.words & near)
                    yield known.issue, (False, min(share, 1.0), weight, lines[start])
        every = [word for words in split for word in words]
        if len(every) <= _SHORT:
            yield from self._asked(every, " ".join(lines))

    def _may_say_words(self, text: _Text, words: set[str]) -> bool:
        issue = self.issues[text.issue]
        return "mismatch" not in text.words or any(k.lower() in words for k in issue.kernels)

    def _asked(
        self, words: Sequence[str], line: str
    ) -> Iterator[tuple[int, tuple[bool, float, float, str]]]:
        """Yields issues for a short question: one with nearly all of its words, which few issues have."""
        for number in self.names.get(line.strip().lower(), ()):
            yield number, (True, 1.0, 0.0, line)
        usable = {word for word in words if word in self.weights or not word.isdecimal()}
        if not usable:
            return
        tally = {word: self.weights.get(word, self.strange) for word in usable}
        for text in self.texts:
            common = text.words & usable
            share = math.fsum(tally[word] for word in common) / math.fsum(tally.values())
            if share >= _ALL_BUT and (common & self.rare or len(common) >= 3):
                # A match of the whole text ranks above a match of a part.
                of_it = self._weight(common) / text.weight
                yield text.issue, (False, share * (0.5 + of_it / 2), self._weight(common), line)
