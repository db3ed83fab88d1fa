"""`crosswarp why`: the causes of an error text, the likeliest first: index entries, known issues, source messages.

The rules: a text that several causes share is never certain, and a shim to paste never answers it first. A cause
outside the named release or GPU never comes first. Python's own errors are answered only with a frame of Triton or of
a known library. Errors that are not Triton's are marked so.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase

from crosswarp.matrix import plain_versions
from crosswarp.matrix.facts import errors
from crosswarp.matrix.facts.errors import Cause, Entry, Message, Wording
from crosswarp.matrix.facts.known_texts import Fix, Known
from crosswarp.reports.findings import language_answers
from crosswarp.reports.findings.error_text import FRAME_LINE, Facts, Log
from crosswarp.reports.findings.why import Match, why

# A source message of less weight, without an entry, needs a frame of Triton: it is in too many texts.
LONG = 22
# Kinds whose texts are Triton's own words; another program may print the others.
OWN = ("author", "hardware")
# Greater than any position in a text.
BEHIND = 1_000_000_000
# Source lines in a traceback count less than messages.
QUOTED = BEHIND // 2
# How often one wording is looked for: a log repeats itself.
MOST = 200
# Least number of words in a known issue's fingerprint: shorter ones are in too many texts.
FEW = 3
# The share of common words above which a known issue counts by similarity alone.
ALIKE = 0.9
# Words, and lines, of a text that is read as a title: of a longer one the message counts.
TITLE, TITLE_LINES = 60, 4
# Names of code that inductor writes: no author's.
WRITTEN = re.compile(
    r"\btriton_(?:poi|red|per)_|\btmp\d+ = |\bks\d+\b|\bxindex\b|\bR0_BLOCK\b|\brindex\b|_HEAD_DIM_ROUNDED\b"
)
INDUCTORS = Cause(
    "torch.compile (inductor) wrote this kernel: the mistake is one of this torch, mostly with dynamic shapes.",
    "Upgrade torch; torch.compile(dynamic=False) or mark the dimension static (torch._dynamo.mark_static); leave that "
    "part out with torch.compiler.disable, or TORCHDYNAMO_DISABLE=1.",
    "model = torch.compile(model, dynamic=False)",
)
# Where somebody left out the name, the words around it are in many texts.
ELIDED = re.compile(r"\.\.\.|\u2026")
# Python's own errors: anybody's code raises them. Without the exception's name it is a question.
PYTHONS = re.compile(
    r"\w+Error[:(]\W*(?:name \W?\w+\W? is not defined|(?:too many|not enough) values to unpack|unhashable type"
    r"|\W?(?:NoneType|int|float|str|bool|list|dict|tuple)\W? object "
    r"(?:is not|has no attribute \W*(?!\W|create_|to_tensor))"
    r"|unsupported operand(?!.*NotImplementedType)|.{0,40}not supported between)"
)


@dataclass(frozen=True)
class Ranked:
    """A cause, with the evidence for it."""

    cause: Cause
    # How much of the evidence is there; -1 and less: it cannot be this one.
    share: float
    because: str = ""


@dataclass(frozen=True)
class Answer:
    # The line that says it, as it was given, and its number.
    line: str
    number: int
    # Index of the failure in the log, from 0; `also` has the others.
    failure: int
    certain: bool
    entry: Entry | None = None
    causes: tuple[Ranked, ...] = ()
    known: Match | None = None
    # The message of Triton's source with these words; the only answer where no entry explains it.
    message: Message | None = None
    # Nothing in the text is Triton's: another program may say the same.
    doubtful: bool = False
    # A known issue that nothing speaks against: its shim may be offered.
    fits: bool = False
    also: tuple[int, ...] = ()
    # Smaller is better.
    rank: tuple[object, ...] = field(default=(), compare=False)

    @property
    def id(self) -> str:
        if self.entry:
            return self.entry.id
        return self.known.issue.id if self.known else "source"


@dataclass(frozen=True)
class _Hit:
    wording: Wording
    start: int
    end: int
    of_source: bool
    # The source message with the same words, where an entry explains more.
    source: int | None = None


def answers(
    text: str,
    issues: Sequence[Known],
    shims: Sequence[Fix],
    facts: Facts | None = None,
    index: errors.Index | None = None,
    here: Facts | None = None,
) -> list[Answer]:
    """Returns the explanations of `text`, the likeliest first; empty if there are none.

    Args:
        facts: the machine as the reader describes it; it overrides what the text names.
        here: the versions installed here; they count where neither of the others names one.
    """
    index = index or errors.committed()
    log = Log(text)
    named, here = facts or Facts(), here or Facts()
    facts = Facts(
        named.triton or log.facts.triton or here.triton,
        named.torch or log.facts.torch or here.torch,
        named.target or log.facts.target or here.target,
    )
    hits = _hits(log, index)
    found = [*_entries(log, index, hits, facts), *_messages(log, index, hits, facts)]
    found += _computed(log, facts, found)
    known = why(log.said_first, issues, shims, facts.triton or None)
    found += _known(log, known, found, facts)
    found += _named(text, log, index, found, facts)
    return _ordered(_told(found))


# Wordings in the text


def _hits(log: Log, index: errors.Index) -> list[_Hit]:
    """Returns the wordings that the text contains, without those that a more exact one overlaps."""
    found: list[_Hit] = []
    for word in log.words:
        for one, of_source in index.by_word.get(word, ()):
            if not log.words.issuperset(one.anchors):
                continue
            framed = _wants_frame(index, one, of_source)
            if framed and not log.framed or not _may_stand(log, index, one, of_source):
                continue
            for number, (start, end) in enumerate(one.find(log.tidy)):
                if not framed or log.framed_in(log.lines[log.at(start)].failure):
                    found.append(_Hit(one, start, end, of_source))
                if number > MOST:
                    break
    return _exact(found, index)


def _may_stand(log: Log, index: errors.Index, wording: Wording, of_source: bool) -> bool:
    """Whether a wording can be meant: a general entry needs an exception of Triton's, and a message with too few words
    needs its file."""
    if not of_source:
        return index.entries[wording.number].kind != "general" or log.own and not log.others
    message = index.messages[wording.number]
    where = message.where.lower()
    return not _thin(message, wording) or f"triton/{where}" in log.tidy or f"/{where}:" in log.tidy


def _wants_frame(index: errors.Index, wording: Wording, of_source: bool) -> bool:
    """Whether a text counts only with a frame of Triton: others print the same, or it is short."""
    if of_source:
        return not _thin(index.messages[wording.number], wording) and wording.weight < LONG
    return index.entries[wording.number].framed


def _thin(message: Message, wording: Wording) -> bool:
    # A single word is in too many texts.
    return bool(message.thin) or " " not in wording.text


def _exact(hits: list[_Hit], index: errors.Index) -> list[_Hit]:
    """Without the hits that overlap a more exact one. Entries rank before source messages, those before general
    entries; a text of one error before one of many, a longer wording before a shorter."""

    def order(hit: _Hit) -> tuple[int, bool, int, int, bool, int]:
        weight, places = -hit.wording.weight, hit.wording.text.count("{}")
        number = hit.wording.number
        if hit.of_source:
            return 1, False, weight, places, False, number
        entry = index.entries[number]
        general = 2 if entry.kind == "general" else 0
        return general, entry.table, weight, places, entry.shared, number

    kept: list[_Hit] = []
    for hit in sorted(hits, key=order):
        over = [at for at, one in enumerate(kept) if hit.start < one.end and one.start < hit.end]
        if not over:
            kept.append(hit)
        elif hit.of_source and kept[over[0]].source is None and not kept[over[0]].of_source:
            kept[over[0]] = replace(kept[over[0]], source=hit.wording.number)
    return kept


# The errors of the index


def _entries(log: Log, index: errors.Index, hits: Iterable[_Hit], facts: Facts) -> Iterator[Answer]:
    for hit in hits:
        if hit.of_source:
            continue
        entry = index.entries[hit.wording.number]
        line = log.lines[log.at(hit.start)]
        around = log.by_failure[line.failure]
        causes = _causes(entry, around, facts)
        if entry.kind == "author" and (written := WRITTEN.search(around)):
            causes = _written(causes, written[0])
        possible = [one for one in causes if one.share > -1]
        decided = [one for one in possible if one.share > 0]
        certain = entry.sure and not entry.shared and len(entry.causes) == 1
        if entry.kind == "author" and (log.generated or log.interpreted):
            # Code that inductor writes, or the interpreter runs, is not the author's mistake.
            certain = False
        if not certain and len(decided) == 1 and decided[0].cause.decides:
            certain = True
        certain = certain and not line.quoted
        outside = bool(facts.triton and hit.wording.triton) and not _within(
            facts.triton, hit.wording.triton
        )
        rank = (
            bool(entry.foreign),
            # A general answer comes after a specific one, of any failure.
            2 if entry.wrapper else int(entry.consequence or entry.kind == "general"),
            not possible or outside,
            hit.start + (BEHIND if entry.kind == "general" else QUOTED * line.quoted),
            -hit.wording.weight,
        )
        # A message from Triton's source is Triton's even without a frame.
        own = (
            entry.own or entry.kind in OWN or hit.source is not None and hit.wording.weight >= LONG
        )
        doubtful = not entry.foreign and (log.others or not (log.framed_in(line.failure) or own))
        yield Answer(
            line.text, line.number, line.failure, certain and bool(possible) and not outside and not doubtful, entry,
            causes, message=None if hit.source is None else index.messages[hit.source],
            doubtful=doubtful, rank=rank,
        )  # fmt: skip


def _causes(entry: Entry, text: str, facts: Facts) -> tuple[Ranked, ...]:
    """With those first for which there is evidence, and those last that the reader's release or GPU cannot have."""
    ranked = []
    for cause in entry.causes:
        share, because = 0.0, ""
        if cause.log:
            found = re.search(cause.log, text)
            # A cause whose evidence is missing ranks below one that needs no evidence.
            share, because = (2.0, found[0][:80]) if found else (-0.5, "")
        for mine, window in ((facts.triton, cause.triton), (facts.torch, cause.torch)):
            if mine and window:
                share = _raised(share) if _within(mine, window) else -5
        if facts.target and cause.targets:
            share = _raised(share) if _is_one(facts.target, cause.targets) else -5
        ranked.append(Ranked(cause, share, because))
    # Sorted is stable: without evidence they stay as they are written, the likeliest first.
    return tuple(sorted(ranked, key=lambda one: -one.share))


def _written(causes: tuple[Ranked, ...], because: str) -> tuple[Ranked, ...]:
    """Adds torch as the author of a kernel that inductor wrote: after a cause that the text names, else first."""
    place = sum(one.share >= 2 for one in causes)
    return (*causes[:place], Ranked(INDUCTORS, 2.0, because), *causes[place:])


def _raised(share: float) -> float:
    """A release or GPU that fits speaks for a cause, and makes up for no evidence that is missing."""
    return share + 1 if share >= 0 else max(share, -0.25)


def _within(version: str, window: str) -> bool:
    release = plain_versions.numbers(version)
    if release and len(release) < 3:
        # `Triton 3.2` is any of its patches.
        return any(plain_versions.within(f"{version}.{patch}", window) for patch in (0, 9))
    if release is None:
        from crosswarp.matrix import versions

        if versions.parse(version) is None:
            return True
    return plain_versions.within(version, window)


def _is_one(target: str, targets: Sequence[str]) -> bool:
    return any(fnmatchcase(target, one) for one in targets)


# Messages of the source


def _messages(
    log: Log, index: errors.Index, hits: Iterable[_Hit], facts: Facts
) -> Iterator[Answer]:
    for hit in hits:
        if not hit.of_source or log.others:
            continue
        message = index.messages[hit.wording.number]
        line = log.lines[log.at(hit.start)]
        # Triton's message comes before its consequences.
        weak = line.quoted or bool(message.thin)
        rank = (False, True, weak, hit.start - BEHIND * (not weak), -hit.wording.weight)
        yield Answer(line.text, line.number, line.failure, False, message=message, rank=rank)


def _computed(log: Log, facts: Facts, found: Sequence[Answer]) -> Iterator[Answer]:
    """Yields answers of the language table for names and options that only some releases have."""
    taken: dict[int, Answer] = {}
    for one in found:
        if one.entry and not one.entry.consequence:
            # Of several on a line, the one that nothing from the table precedes.
            before = taken.get(one.number)
            if not (before and before.entry and (not before.entry.table or before.certain)):
                taken[one.number] = one
    for entry, position in language_answers.entries(log.lines, facts.triton):
        line = log.lines[position]
        if entry.framed and not log.framed_in(line.failure):
            continue
        other = taken.get(line.number)
        if other and other.entry and (not other.entry.table or other.certain):
            continue
        causes = _causes(entry, log.by_failure[line.failure], facts)
        # Ahead of messages that many texts share.
        rank = (False, False, False, (other.rank[3] if other else log.start(position)), -1000)
        yield Answer(
            line.text,
            line.number,
            line.failure,
            bool(facts.triton and not entry.shared),
            entry,
            causes,
            rank=rank,
        )


# Known issues


def _known(
    log: Log, matches: Sequence[Match], found: Sequence[Answer], facts: Facts
) -> Iterator[Answer]:
    """Yields the known issues in the text: exact ones, not in words that others share, before everything else."""
    places = {line.text: line for line in reversed(log.lines)}
    # An entry for any exception does not displace a known issue.
    found = [one for one in found if one.entry and one.entry.kind != "general"]
    shared = {one.number for one in found if one.entry and one.entry.shared and not one.entry.table}
    named = {one.failure for one in found if one.entry and not one.entry.wrapper}
    foreign = {one.number for one in found if one.entry and one.entry.foreign}
    told = {one.number for one in found if one.entry and not one.entry.consequence}
    explained = {one.failure for one in found if one.entry and not one.entry.consequence}
    mentioned = {one.failure for one in found}
    # No shim fixes code that inductor generates.
    generated = {one.number for one in found if one.entry and one.entry.kind == "inductor"}
    written = {one.failure for one in found if one.entry and one.entry.kind == "inductor"}
    # An entry with the issue among its causes decides.
    weighed = {
        (one.failure, ranked.cause.issue)
        for one in found
        if one.entry and one.entry.shared
        for ranked in one.causes
    }
    short = len(errors.words(log.tidy)) <= 14
    for order, match in enumerate(matches):
        line = places.get(match.line) or log.lines[-1]
        if not log.framed_in(line.failure) and PYTHONS.search(match.line):
            continue
        targets = tuple(match.issue.targets)
        elsewhere = bool(facts.target) and targets != ("*",) and not _is_one(facts.target, targets)
        # For a text of several lines, the matching line is unknown.
        beside = line.number in shared if match.line in places else bool(shared)
        alike = not match.exact and (line.number in told or not (short or match.share >= ALIKE))
        if not match.exact and match.share < ALIKE and not short and told:
            continue
        # Another program's message is an issue of Triton's only where it names the interpreter.
        if line.number in foreign and not log.interpreted:
            continue
        # Similar words do not count beside an entry of the same failure.
        if not match.exact and (
            line.number in told or line.failure in named and not (short and match.share >= ALIKE)
        ):
            continue
        # A file and a line of a traceback are words of many failures.
        if not match.exact and (line.quoted or FRAME_LINE.match(line.text)):
            continue
        # An issue of the interpreter alone counts only if the text mentions the interpreter.
        interpreted = tuple(match.issue.lanes) == ("interpret",) and not log.interpreted
        certain = match.exact and match.inside is True
        thin = len(errors.words(errors.tidy(match.issue.fingerprint))) < FEW
        alike = (
            alike
            or thin and (line.failure in mentioned or not certain)
            or not match.exact and (line.failure in explained or bool(ELIDED.search(line.text)))
            or line.number in generated
            or line.failure in written and bool(PYTHONS.search(match.line))
            or not certain and (line.failure, match.issue.id) in weighed
        )  # fmt: skip
        worse = (
            match.inside is False
            or elsewhere
            or beside
            or alike
            or interpreted
            or line.quoted
            or log.others
        )
        # Others may say the same: the release that is named makes it certain.
        certain = certain and not worse
        rank = (False, worse, worse, -1 if not worse else BEHIND, order)
        yield Answer(
            line.text, line.number, line.failure, certain, known=match, fits=not worse, rank=rank
        )


# Titles


def _named(
    text: str, log: Log, index: errors.Index, found: Sequence[Answer], facts: Facts
) -> Iterator[Answer]:
    """Yields the entry that a title paraphrases, where the text has no known message."""
    if len(errors.words(log.tidy)) > TITLE or not 0 < len(log.lines) <= TITLE_LINES or log.others:
        return
    if any(
        one.entry and one.entry.kind != "general" or one.known and (one.known.exact or one.fits)
        for one in found
    ):
        return
    # The text as given: in a title, `[ROCm]` or `[Windows]` looks like a log's prefix.
    title, line = errors.tidy(text), log.lines[0]
    for place, topic in enumerate(index.topics):
        # A topic that needs the word Triton also accepts it beside a version, outside a frame.
        if not log.framed and not any(part.startswith("triton") for part in topic.parts):
            continue
        if all(re.search(part, title) for part in topic.parts):
            entry = index.entries[topic.number]
            causes = _causes(entry, text, facts)
            rank = (False, False, False, 0, place)
            yield Answer(line.text, line.number, line.failure, False, entry, causes, rank=rank)
            return


def _told(found: Sequence[Answer]) -> Iterator[Answer]:
    """Drops general answers (for any exception) of a failure that a specific entry explains."""
    more = {
        one.failure
        for one in found
        if one.entry and one.entry.kind != "general" and not one.entry.wrapper
    }
    most = {
        one.failure
        for one in found
        if one.entry and one.entry.kind != "general" and not one.entry.wrapper and not one.doubtful
    }
    for one in found:
        general = one.entry and one.entry.kind == "general" and one.failure in more
        wrapper = one.entry and one.entry.wrapper and one.failure in most
        if not (general or wrapper):
            yield one


def _ordered(found: Iterable[Answer]) -> list[Answer]:
    """By failure, then by rank; an answer that several failures share is given once, at the first."""
    best: dict[tuple[str, str], Answer] = {}
    first: dict[int, int] = {}
    for one in sorted(found, key=lambda one: (*one.rank[:3], one.failure, *one.rank[3:])):  # type: ignore[type-var]
        key = (one.id, one.message.text if one.message and not one.entry else "")
        if key in best:
            if one.failure != best[key].failure and one.failure not in best[key].also:
                best[key] = replace(best[key], also=(*best[key].also, one.failure))
            continue
        best[key] = one
        first.setdefault(one.failure, one.number)
    return list(best.values())
