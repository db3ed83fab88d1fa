"""What `crosswarp lint` found, as text, JSON, SARIF and annotations of GitHub."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from pathlib import PurePath
from urllib.parse import quote

from crosswarp.matrix.linting.lint import Finding, Result
from crosswarp.matrix.linting.rules import RULES
from crosswarp.reports.text import escape

# Of the JSON.
FORMAT = 1
FORMATS = ("text", "json", "sarif", "github")
# Of one name in one file: the first places, and how many more.
_SHOWN = 3
_UNREADABLE = "unreadable"
_ABOUT = "the static check against releases of Triton: docs/lint.md"


def rendered(result: Result, form: str) -> str:
    """`form` is one of FORMATS."""
    return {"text": text, "json": as_json, "sarif": sarif, "github": github}[form](result)


def text(result: Result) -> str:
    lines = [
        _line(one.path, one.line, 1, "cannot be checked", one.why) for one in result.unreadable
    ]
    for _, group in itertools.groupby(result.findings, key=lambda one: one.path):
        alike: dict[tuple[str, str], list[Finding]] = {}
        for one in group:
            alike.setdefault((one.rule, one.message), []).append(one)
        for (rule, message), found in alike.items():
            for one in found[:_SHOWN]:
                lines.append(_line(one.path, one.line, one.column, rule, message))
                if one.callers:
                    lines.append(f"    called from {escape.line(', '.join(one.callers), 600)}")
            if len(found) > _SHOWN:
                lines.append(f"    and in {len(found) - _SHOWN} more places of this file")
    return "\n".join([*lines, summary(result)]) + "\n"


def summary(result: Result) -> str:
    parts = [f"{len(result.findings)} found in {_count(result.files, 'file')}"]
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
    return escape.document(
        {
            "format": FORMAT,
            # By its older name.
            "crosswarp_lint": FORMAT,
            "releases": list(result.releases),
            "files": result.files,
            "ignored": result.ignored,
            "findings": [
                {
                    "rule": one.rule,
                    "path": one.path,
                    "line": one.line,
                    "column": one.column,
                    "subject": one.subject,
                    "releases": list(one.releases),
                    "what_happens": one.where.value,
                    "healed": dict(one.healed),
                    "message": one.message,
                    "callers": list(one.callers),
                }
                for one in result.findings
            ],
            "unreadable": [
                {"path": one.path, "line": one.line, "why": one.why} for one in result.unreadable
            ],
        }
    )


def sarif(result: Result) -> str:
    """SARIF 2.1.0, as GitHub's code scanning reads it."""
    rules = [{"id": name, "shortDescription": {"text": said}} for name, said in RULES.items()]
    rules.append(
        {"id": _UNREADABLE, "shortDescription": {"text": "a file that could not be checked"}}
    )
    found = [
        _result(one.rule, one.message, one.path, one.line, one.column) for one in result.findings
    ]
    found += [_result(_UNREADABLE, one.why, one.path, one.line, 1) for one in result.unreadable]
    tool = {"driver": {"name": "crosswarp lint", "fullName": _ABOUT, "rules": rules}}
    return escape.document(
        {
            "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
            "version": "2.1.0",
            "runs": [{"tool": tool, "columnKind": "utf16CodeUnits", "results": found}],
        }
    )


def _result(rule: str, message: str, path: str, line: int, column: int) -> Mapping[str, object]:
    place = {
        # A stranger's file may be named like an address, or a link out of the checkout.
        "artifactLocation": {"uri": quote(PurePath(path).as_posix())},
        "region": {"startLine": max(line, 1), "startColumn": max(column, 1)},
    }
    level = "note" if rule == _UNREADABLE else "warning" if rule == "version-string" else "error"
    said = escape.line(message, 1000)
    return {
        "ruleId": rule,
        "level": level,
        "message": {"text": said},
        "locations": [{"physicalLocation": place}],
    }


def github(result: Result) -> str:
    """Annotations: commands to GitHub's runner, in which nothing of a stranger's ends one or begins another."""
    lines = [
        _command("notice", one.path, one.line, 1, "cannot be checked", one.why)
        for one in result.unreadable
    ]
    for one in result.findings:
        kind = "warning" if one.rule == "version-string" else "error"
        lines.append(_command(kind, one.path, one.line, one.column, one.rule, one.message))
    return "\n".join([*lines, escape.terminal(summary(result))]) + "\n"


def _command(kind: str, path: str, line: int, column: int, title: str, message: str) -> str:
    # https://docs.github.com/actions, "Workflow commands": %, line ends, and in properties : and , are written so.
    said = _escaped(escape.line(message, 600))
    name = _escaped(escape.line(path, 300)).replace(":", "%3A").replace(",", "%2C")
    return f"::{kind} file={name},line={line},col={column},title=crosswarp lint {title}::{said}"


def _escaped(said: str) -> str:
    return said.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
