"""What `crosswarp why` found, for a terminal and for programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypedDict

from crosswarp.compat.record import Shim
from crosswarp.reports.findings.why import Match
from crosswarp.reports.text import escape
from crosswarp.reports.text.layout import fill

FORMAT: Literal[1] = 1
# Further down nobody looks; the JSON has all.
_SHOWN = 5
_LINE = 200


class Found(TypedDict):
    issue: str
    title: str
    status: str
    exact: bool
    share: float
    line: str
    triton: str
    inside: bool | None
    fixed_in: str | None
    targets: list[str]
    links: list[str]
    shim: str | None
    paste: list[str]
    workaround: str


class Answer(TypedDict):
    format: Literal[1]
    triton: str | None
    found: list[Found]


def paste(shim: Shim | None) -> list[str]:
    """The lines that heal it."""
    if shim is None:
        return []
    return ["from crosswarp import compat", f'compat.install(only=["{shim.name}"])']


def terminal(matches: Sequence[Match], triton: str | None) -> str:
    if not matches:
        return nothing()
    parts = []
    for number, match in enumerate(matches[:_SHOWN], 1):
        parts.append(_told(number, match, triton))
    if len(matches) > _SHOWN:
        parts.append(f"and {len(matches) - _SHOWN} less likely: --format json has all.")
    return "\n\n".join(parts) + "\n"


def nothing() -> str:
    return (
        "No known issue says this. It may be new, or your code's own error.\n"
        "  Give more of the text: the last line of the traceback, or the whole log on standard input.\n"
        "  Your files against every release:  crosswarp lint PATH\n"
        "  What is installed and healed here: crosswarp doctor\n"
        "  All texts that are known:          docs/shims.md\n"
    )


def export(matches: Sequence[Match], triton: str | None) -> str:
    document: Answer = {
        "format": FORMAT,
        "triton": triton,
        "found": [
            {
                "issue": one.issue.id,
                "title": one.issue.title,
                "status": one.issue.status,
                "exact": one.exact,
                "share": one.share,
                "line": escape.line(one.line, 4 * _LINE),
                "triton": one.issue.triton,
                "inside": one.inside,
                "fixed_in": one.issue.fixed_in,
                "targets": list(one.issue.targets),
                "links": list(one.issue.links),
                "shim": one.issue.shim,
                "paste": paste(one.shim),
                "workaround": one.issue.workaround,
            }
            for one in matches
        ],
    }
    return escape.document(document)


def _told(number: int, match: Match, triton: str | None) -> str:
    issue = match.issue
    lines = [fill(f"{number}. ", escape.line(f"{issue.title} [{issue.id}]", 400))]
    window = f"{issue.triton}" if issue.triton else "every release"
    if issue.fixed_in:
        window += f"; fixed in {issue.fixed_in}"
    if match.inside is not None:
        window += f"; {triton} is {'one of them' if match.inside else 'NOT one of them'}"
    targets = "" if tuple(issue.targets) == ("*",) else ", ".join(issue.targets)
    sure = "this text is its own" if match.exact else f"like it by {match.share:.0%}"
    facts = [
        ("Triton", window),
        ("targets", targets),
        ("because", f"{sure}: {escape.line(match.line, _LINE)}"),
        ("do", issue.workaround),
        ("see", " ".join(issue.links)),
    ]
    lines += [_fact(name, text) for name, text in facts if text]
    if given := paste(match.shim):
        lines += ["   paste    " + given[0], *("            " + line for line in given[1:])]
    elif issue.shim is None:
        lines.append(_fact("paste", "no shim heals it"))
    return "\n".join(lines)


def _fact(name: str, text: str) -> str:
    return fill(f"   {name:<8} ", escape.line(text, 900))
