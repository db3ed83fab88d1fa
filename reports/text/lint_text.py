"""The findings of `crosswarp lint`, as text, JSON, SARIF and annotations of GitHub."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from pathlib import PurePath
from urllib.parse import quote

from crosswarp.matrix.checkout.apart import Apart
from crosswarp.matrix.linting.lint import Finding, Result
from crosswarp.matrix.linting.rules import RULES
from crosswarp.reports.text import escape
from crosswarp.reports.text.document import filled

FORMATS = ("text", "json", "sarif", "github")
# The most places shown of one name in one file; the rest is counted.
_SHOWN = 3
_UNREADABLE = "unreadable"
_VENDORS = "For other vendors' chips, which have a Triton of their own (not counted; --format json has each):"
_COPIES = "In vendored copies of other libraries (--format json has each):"
_ABOUT = "the static check against releases of Triton: docs/lint.md"


def rendered(result: Result, form: str) -> str:
    """`form` is one of FORMATS."""
    return {"text": text, "json": as_json, "sarif": sarif, "github": github}[form](result)


def text(result: Result) -> str:
    lines = [
        _line(file.path, file.line, 1, "cannot be checked", file.why) for file in result.unreadable
    ]
    own = [finding for finding in result.findings if finding.apart is None]
    for _, group in itertools.groupby(own, key=lambda finding: finding.path):
        alike: dict[tuple[str, str], list[Finding]] = {}
        for place in group:
            alike.setdefault((place.rule, place.message), []).append(place)
        for (rule, message), findings in alike.items():
            for shown in findings[:_SHOWN]:
                lines.append(_line(shown.path, shown.line, shown.column, rule, message))
                if shown.callers:
                    lines.append(f"    called from {escape.line(', '.join(shown.callers), 600)}")
            if len(findings) > _SHOWN:
                lines.append(f"    and in {len(findings) - _SHOWN} more places of this file")
    coming = [
        escape.line(f"Announced for Triton {change.release}: {change.title}. {change.do}", 600)
        for change in result.announced
    ]
    return "\n".join([*lines, *_apart(result), *coming, summary(result)]) + "\n"


def _apart(result: Result) -> list[str]:
    """The folders of other vendors' chips, and vendored copies, each with how much is in it."""
    lines = []
    for counts, title in ((False, _VENDORS), (True, _COPIES)):
        by_folder: dict[Apart, list[Finding]] = {}
        for finding in result.findings:
            if finding.apart is not None and finding.counts is counts:
                by_folder.setdefault(finding.apart, []).append(finding)
        if by_folder:
            lines.append(title)
        for apart, inside in sorted(
            by_folder.items(), key=lambda pair: (-len(pair[1]), pair[0].folder)
        ):
            vendor = f" ({apart.vendor})" if apart.vendor else ""
            files = len({place.path for place in inside})
            many = f"{_count(len(inside), 'finding')} in {_count(files, 'file')}"
            lines.append(f"    {escape.line(apart.folder, 200)}{vendor}: {many}")
    return lines


def summary(result: Result) -> str:
    counted = [finding for finding in result.findings if finding.counts]
    parts = [f"{len(counted)} found in {_count(result.files, 'file')}"]
    if others := len(result.findings) - len(counted):
        parts.append(f"{others} for other vendors' chips")
    if result.ignored:
        parts.append(f"{result.ignored} ignored by comments")
    if result.unreadable:
        parts.append(f"{_count(len(result.unreadable), 'file')} could not be checked")
    return f"{', '.join(parts)}; against Triton {', '.join(result.releases)}."


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _line(path: str, line: int, column: int, rule: str, message: str) -> str:
    return escape.line(f"{path}:{line}:{column}: {rule}: {message}", 600)


def as_json(result: Result) -> str:
    from crosswarp.reports.text import documents

    return escape.document(filled(documents.Linted, result))


def sarif(result: Result) -> str:
    """SARIF 2.1.0, as GitHub's code scanning reads it."""
    rules = [
        {"id": name, "shortDescription": {"text": description}}
        for name, description in RULES.items()
    ]
    rules.append(
        {"id": _UNREADABLE, "shortDescription": {"text": "a file that could not be checked"}}
    )
    results = [
        _result(finding.rule, finding.message, finding.path, finding.line, finding.column)
        for finding in result.findings
        if finding.counts
    ]
    results += [
        _result(_UNREADABLE, file.why, file.path, file.line, 1) for file in result.unreadable
    ]
    tool = {"driver": {"name": "crosswarp lint", "fullName": _ABOUT, "rules": rules}}
    return escape.document(
        {
            "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
            "version": "2.1.0",
            "runs": [{"tool": tool, "columnKind": "utf16CodeUnits", "results": results}],
        }
    )


def _result(rule: str, message: str, path: str, line: int, column: int) -> Mapping[str, object]:
    place = {
        # A stranger's file may be named like an address, or a link out of the checkout.
        "artifactLocation": {"uri": quote(PurePath(path).as_posix())},
        "region": {"startLine": max(line, 1), "startColumn": max(column, 1)},
    }
    level = "note" if rule == _UNREADABLE else "warning" if rule == "version-string" else "error"
    text = escape.line(message, 1000)
    return {
        "ruleId": rule,
        "level": level,
        "message": {"text": text},
        "locations": [{"physicalLocation": place}],
    }


def github(result: Result) -> str:
    """Annotations: commands to GitHub's runner, in which nothing of a stranger's ends one or begins another."""
    lines = [
        _command("notice", file.path, file.line, 1, "cannot be checked", file.why)
        for file in result.unreadable
    ]
    for finding in result.findings:
        if not finding.counts:
            continue
        kind = "warning" if finding.rule == "version-string" else "error"
        lines.append(
            _command(
                kind, finding.path, finding.line, finding.column, finding.rule, finding.message
            )
        )
    return "\n".join([*lines, escape.terminal(summary(result))]) + "\n"


def _command(kind: str, path: str, line: int, column: int, title: str, message: str) -> str:
    # https://docs.github.com/actions, "Workflow commands": %, line ends, and in properties : and , are written so.
    text = _escaped(escape.line(message, 600))
    name = _escaped(escape.line(path, 300)).replace(":", "%3A").replace(",", "%2C")
    return f"::{kind} file={name},line={line},col={column},title=crosswarp lint {title}::{text}"


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
