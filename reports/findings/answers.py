"""`crosswarp why`: the causes of an error text, the likeliest first: index entries, known issues, source messages.

The rules: a text that several causes share is never certain, and a shim to paste never answers it first. A cause
outside the named release or GPU never comes first. Python's own errors are answered only with a frame of Triton or of
a known library. Errors that are not Triton's are marked so.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from crosswarp.matrix.facts import errors
from crosswarp.matrix.facts.errors import Message, Wording
from crosswarp.matrix.facts.known_texts import Fix, Known
from crosswarp.reports.findings import language_answers
from crosswarp.reports.findings.cause_ranking import (
    WRITTEN,
    Answer,
    ranked,
    with_author,
    within,
)
from crosswarp.reports.findings.error_text import LONGEST_LINE, Facts, Log
from crosswarp.reports.findings.issue_answers import BEHIND, from_issues
from crosswarp.reports.findings.why import why

# A source message of less weight, without an entry, needs a frame of Triton: it is in too many texts.
LONG = 22
# Kinds whose texts are Triton's own words; another program may print the others.
OWN = ("author", "hardware")
# Source lines in a traceback count less than messages.
QUOTED = BEHIND // 2
# How often one wording is looked for: a log repeats itself.
MOST = 200
# Words, and lines, of a text that is read as a title: of a longer one the message counts.
TITLE, TITLE_LINES = 60, 4


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
    made = [*_entries(log, index, hits, facts), *_messages(log, index, hits, facts)]
    made += _computed(log, facts, made)
    known = why(log.said_first, issues, shims, facts.triton or None)
    made += from_issues(log, known, made, facts)
    made += _named(text, log, index, made, facts)
    return _ordered(_with_followers(made))


# Wordings in the text


def _hits(log: Log, index: errors.Index) -> list[_Hit]:
    """Returns the wordings that the text contains, without those that a more exact one overlaps."""
    hits: list[_Hit] = []
    for word in log.words:
        for wording, of_source in index.by_word.get(word, ()):
            if not log.words.issuperset(wording.anchors):
                continue
            framed = _wants_frame(index, wording, of_source)
            if framed and not log.framed or not _may_stand(log, index, wording, of_source):
                continue
            for number, (start, end) in enumerate(wording.find(log.tidy)):
                if not framed or log.framed_in(log.lines[log.at(start)].failure):
                    hits.append(_Hit(wording, start, end, of_source))
                if number > MOST:
                    break
    return _exact(hits, index)


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

    chosen: list[_Hit] = []
    for hit in sorted(hits, key=order):
        over = [
            at for at, other in enumerate(chosen) if hit.start < other.end and other.start < hit.end
        ]
        if not over:
            chosen.append(hit)
        elif hit.of_source and chosen[over[0]].source is None and not chosen[over[0]].of_source:
            chosen[over[0]] = replace(chosen[over[0]], source=hit.wording.number)
    return chosen


# The errors of the index


def _entries(log: Log, index: errors.Index, hits: Iterable[_Hit], facts: Facts) -> Iterator[Answer]:
    for hit in hits:
        if hit.of_source:
            continue
        entry = index.entries[hit.wording.number]
        line = log.lines[log.at(hit.start)]
        around = log.by_failure[line.failure]
        causes = ranked(entry, around, facts)
        if entry.kind == "author" and (written := WRITTEN.search(around)):
            causes = with_author(causes, written[0])
        possible = [cause for cause in causes if cause.share > -1]
        decided = [cause for cause in possible if cause.share > 0]
        certain = entry.sure and not entry.shared and len(entry.causes) == 1
        if entry.kind == "author" and (log.generated or log.interpreted):
            # Code that inductor writes, or the interpreter runs, is not the author's mistake.
            certain = False
        if not certain and len(decided) == 1 and decided[0].cause.decides:
            certain = True
        certain = certain and not line.quoted
        outside = bool(facts.triton and hit.wording.triton) and not within(
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


def _computed(log: Log, facts: Facts, so_far: Sequence[Answer]) -> Iterator[Answer]:
    """Yields answers of the language table for names and options that only some releases have."""
    computed: dict[int, Answer] = {}
    for answer in so_far:
        if answer.entry and not answer.entry.consequence:
            # Of several on a line, the one that nothing from the table precedes.
            before = computed.get(answer.number)
            if not (before and before.entry and (not before.entry.table or before.certain)):
                computed[answer.number] = answer
    for entry, position in language_answers.entries(log.lines, facts.triton):
        line = log.lines[position]
        if entry.framed and not log.framed_in(line.failure):
            continue
        other = computed.get(line.number)
        if other and other.entry and (not other.entry.table or other.certain):
            continue
        causes = ranked(entry, log.by_failure[line.failure], facts)
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


# Titles


def _named(
    text: str, log: Log, index: errors.Index, so_far: Sequence[Answer], facts: Facts
) -> Iterator[Answer]:
    """Yields the entry that a title paraphrases, where the text has no known message."""
    if len(errors.words(log.tidy)) > TITLE or not 0 < len(log.lines) <= TITLE_LINES or log.others:
        return
    if any(
        answer.entry
        and answer.entry.kind != "general"
        or answer.known
        and (answer.known.exact or not answer.rank[1])
        for answer in so_far
    ):
        return
    # The text as given: in a title, `[ROCm]` or `[Windows]` looks like a log's prefix.
    title, line = errors.tidy(text[:LONGEST_LINE]), log.lines[0]
    for place, topic in enumerate(index.topics):
        # A topic that needs the word Triton also accepts it beside a version, outside a frame.
        if not log.framed and not any(part.startswith("triton") for part in topic.parts):
            continue
        if all(re.search(part, title) for part in topic.parts):
            entry = index.entries[topic.number]
            causes = ranked(entry, text, facts)
            rank = (False, False, False, 0, place)
            yield Answer(line.text, line.number, line.failure, False, entry, causes, rank=rank)
            return


def _with_followers(every: Sequence[Answer]) -> Iterator[Answer]:
    """Drops general answers (for any exception) of a failure that a specific entry explains."""
    more = {
        answer.failure
        for answer in every
        if answer.entry and answer.entry.kind != "general" and not answer.entry.wrapper
    }
    most = {
        answer.failure
        for answer in every
        if answer.entry
        and answer.entry.kind != "general"
        and not answer.entry.wrapper
        and not answer.doubtful
    }
    for each in every:
        general = each.entry and each.entry.kind == "general" and each.failure in more
        wrapper = each.entry and each.entry.wrapper and each.failure in most
        if not (general or wrapper):
            yield each


def _ordered(every: Iterable[Answer]) -> list[Answer]:
    """By failure, then by rank; an answer that several failures share is given once, at the first."""
    best: dict[tuple[str, str], Answer] = {}
    first: dict[int, int] = {}
    for answer in sorted(every, key=lambda each: (*each.rank[:3], each.failure, *each.rank[3:])):  # type: ignore[type-var]
        key = (answer.id, answer.message.text if answer.message and not answer.entry else "")
        if key in best:
            if answer.failure != best[key].failure and answer.failure not in best[key].also:
                best[key] = replace(best[key], also=(*best[key].also, answer.failure))
            continue
        best[key] = answer
        first.setdefault(answer.failure, answer.number)
    return list(best.values())
