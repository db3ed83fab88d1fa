"""The answers that known issues give to an error text, and what takes their certainty away."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from crosswarp.matrix.facts import errors
from crosswarp.reports.findings.cause_ranking import Answer, is_one, within
from crosswarp.reports.findings.error_text import FRAME_LINE, Facts, Log
from crosswarp.reports.findings.why import Match

# Greater than any position in a text.
BEHIND = 1_000_000_000
# Least number of words in a known issue's fingerprint: shorter ones are in too many texts.
FEW = 3
# The share of common words above which a known issue counts by similarity alone.
ALIKE = 0.9
# The releases that crosswarp covers: for others it has no shim.
COVERED = ">=2.3.1"
# Where somebody left out the name, the words around it are in many texts.
ELIDED = re.compile(r"\.\.\.|\u2026")
# Python's own errors: anybody's code raises them. Without the exception's name it is a question.
PYTHONS = re.compile(
    r"\w+Error[:(]\W*(?:name \W?\w+\W? is not defined|(?:too many|not enough) values to unpack|unhashable type"
    r"|\W?(?:NoneType|int|float|str|bool|list|dict|tuple)\W? object "
    r"(?:is not|has no attribute \W*(?!\W|create_|to_tensor))"
    r"|unsupported operand(?!.*NotImplementedType)|.{0,40}not supported between)"
)
# The classes of Python's own errors, with a text that names nothing of Triton's.
BUILT_IN = re.compile(
    r"^(?:Type|Value|Key|Index|Attribute|Name|Import|OS|Assertion|Recursion|Memory|Syntax|Unicode\w+)Error:"
    r"(?!.*(?:[Tt]riton|\btl\.|constexpr|JITFunction|[Aa]utotun|kernel|warp|ptxas|inductor|gluon))"
)


def from_issues(
    log: Log, matches: Sequence[Match], answers: Sequence[Answer], facts: Facts
) -> Iterator[Answer]:
    """Yields the known issues in the text: exact ones, not in words that others share, before everything else."""
    places = {line.text: line for line in reversed(log.lines)}
    # An entry for any exception does not displace a known issue.
    answers = [answer for answer in answers if answer.entry and answer.entry.kind != "general"]
    shared = {
        answer.number
        for answer in answers
        if answer.entry and answer.entry.shared and not answer.entry.table
    }
    named = {answer.failure for answer in answers if answer.entry and not answer.entry.wrapper}
    foreign = {answer.number for answer in answers if answer.entry and answer.entry.foreign}
    explained_lines = {
        answer.number for answer in answers if answer.entry and not answer.entry.consequence
    }
    explained = {
        answer.failure for answer in answers if answer.entry and not answer.entry.consequence
    }
    mentioned = {answer.failure for answer in answers}
    # No shim fixes code that inductor generates.
    generated = {
        answer.number for answer in answers if answer.entry and answer.entry.kind == "inductor"
    }
    written = {
        answer.failure for answer in answers if answer.entry and answer.entry.kind == "inductor"
    }
    # An entry with the issue among its causes decides.
    weighed = {
        (answer.failure, ranked.cause.issue)
        for answer in answers
        if answer.entry and answer.entry.shared
        for ranked in answer.causes
    }
    short = len(errors.words(log.tidy)) <= 14
    uncovered = bool(facts.triton) and not within(facts.triton, COVERED)
    for order, match in enumerate(matches):
        line = places.get(match.line) or log.lines[-1]
        if not log.framed_in(line.failure) and (
            PYTHONS.search(match.line) or not match.exact and BUILT_IN.search(match.line)
        ):
            continue
        targets = tuple(match.issue.targets)
        elsewhere = bool(facts.target) and targets != ("*",) and not is_one(facts.target, targets)
        # For a text of several lines, the matching line is unknown.
        beside = line.number in shared if match.line in places else bool(shared)
        alike = not match.exact and (
            line.number in explained_lines or not (short or match.share >= ALIKE)
        )
        if not match.exact and match.share < ALIKE and not short and explained_lines:
            continue
        # Another program's message is an issue of Triton's only where it names the interpreter.
        if line.number in foreign and not log.interpreted:
            continue
        # Similar words do not count beside an entry of the same failure.
        if not match.exact and (
            line.number in explained_lines
            or line.failure in named
            and not (short and match.share >= ALIKE)
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
            or uncovered
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
        # Similar words are no reason to paste a shim.
        fits = match.exact and not worse
        yield Answer(
            line.text, line.number, line.failure, certain, known=match, fits=fits, rank=rank
        )
