"""The findings of `crosswarp guards`, as text, Markdown and JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from crosswarp.matrix.facts.issues import Issue
from crosswarp.matrix.linting.sources import Unreadable
from crosswarp.matrix.results.cause import words
from crosswarp.matrix.results.record import Record
from crosswarp.reports.findings.guards import Answer, Place
from crosswarp.reports.text import escape
from crosswarp.reports.text.document import filled
from crosswarp.reports.text.markdown import pipes

FORMATS = ("text", "markdown", "json")
_LETTERS = 'compares versions as texts: wrong from 3.10 on, for "3.10" < "3.9"'
_PROVES = {
    "compile": "The lane compile proves what binds, compiles and fits the target; it judges no numbers and no speed.",
    "emulate": "The lane emulate executes what was compiled; it judges no speed.",
}


@dataclass(frozen=True)
class Report:
    """
    Attributes:
        library: the requested library.
        releases: of Triton, on which the tests were evaluated without running anything.
        lane: in which both sides ran; empty if nothing did.
        ran: the number of those runs.
    """

    library: str
    answers: Sequence[Answer]
    unreadable: Sequence[Unreadable]
    files: int
    releases: Sequence[str]
    lane: str = ""
    ran: int = 0
    known: Mapping[str, Issue] = field(default_factory=dict)


def rendered(report: Report, form: str) -> str:
    """`form` is one of FORMATS."""
    return {"text": text, "markdown": markdown, "json": as_json}[form](report)


def summary(report: Report) -> str:
    count = len(report.answers)
    letters = sum(answer.guard.letters for answer in report.answers)
    parts = [f"{_count(count, 'guard')} in {_count(report.files, 'file')} of {report.library}"]
    if letters:
        parts.append(f"{letters} compare{'s' if letters == 1 else ''} texts")
    if report.unreadable:
        parts.append(f"{_count(len(report.unreadable), 'file')} could not be read")
    if report.lane:
        tried = [answer for answer in report.answers if answer.places]
        reached = [answer for answer in tried if answer.verdict != "not exercised"]
        ran = _count(report.ran, "run")
        parts.append(f"{len(tried)} turned round, {len(reached)} reached, in {ran}")
    return ", ".join(parts) + "."


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def text(report: Report) -> str:
    lines = [
        escape.line(f"{file.path}:{file.line}: cannot be read: {file.why}", 300)
        for file in report.unreadable
    ]
    for answer in report.answers:
        guard = answer.guard
        lines.append(escape.line(f"{guard.id}: {guard.text} ({', '.join(guard.kinds)})", 300))
        lines += [f"    {escape.line(line, 500)}" for line in _about(answer, report)]
    return "\n".join([*lines, escape.line(summary(report)), *_proves(report)]) + "\n"


def markdown(report: Report) -> str:
    lines = [f"# Guards of {escape.markdown(report.library)}", "", escape.markdown(summary(report))]
    lines += ["", *_proves(report), ""]
    rows = []
    for answer in report.answers:
        guard = answer.guard
        _, *why = _about(answer, report)
        verdict = answer.verdict + (f"; {_LETTERS}" if guard.letters else "")
        cells = [
            f"{escape.code(guard.text)} {escape.markdown(guard.id)}",
            escape.code(guard.code),
            escape.markdown(verdict),
            "; ".join(escape.markdown(reason) for reason in why if reason != _LETTERS),
        ]
        rows.append(cells)
    lines.append(pipes(["guard", "it decides", "verdict", "why"], rows))
    for file in report.unreadable:
        lines += ["", f"{escape.markdown(file.path)} cannot be read: {escape.markdown(file.why)}."]
    return "\n".join(lines) + "\n"


def as_json(report: Report) -> str:
    from crosswarp.reports.text import documents

    return escape.document(filled(documents.Guards, report))


def _about(answer: Answer, report: Report) -> list[str]:
    """Returns the decision of a version check, the facts about it, and the verdict where it was tried."""
    guard = answer.guard
    lines = [guard.code]
    if answer.places:
        lines.append(answer.verdict)
    for place in answer.places:
        for record in place.red[:1]:
            lines.append(_red(place, record, report.known))
    if guard.letters:
        lines.append(_LETTERS)
    if guard.holds and not answer.places:
        lines.append(_holds(guard.holds, report.releases))
    lines += [f"from {source}" for source in guard.made_of[:2]]
    return lines


def _red(place: Place, record: Record, known: Mapping[str, Issue]) -> str:
    issue = known.get(record.issue)
    why = f"known: {issue.title} [{issue.id}] {' '.join(issue.links[:1])}" if issue else "no known issue"  # fmt: skip
    more = f", and {len(place.red) - 1} more" if len(place.red) > 1 else ""
    side = "this side" if place.need.value in ("wrong way", "red either way") else "the other side"
    return (
        f"{place.column}, {place.target}: {side} fails in {record.case}{more}: {record.outcome}: "
        f"{escape.line(words(record), 120)} ({why})"
    )


def _holds(holds: Mapping[str, bool], releases: Sequence[str]) -> str:
    on = [release for release in releases if holds.get(release) is True]
    off = [release for release in releases if holds.get(release) is False]
    parts = [f"true on {', '.join(on)}"] if on else []
    return "; ".join([*parts, *([f"false on {', '.join(off)}"] if off else [])])


def _proves(report: Report) -> list[str]:
    return [_PROVES[report.lane]] if report.lane in _PROVES else []
