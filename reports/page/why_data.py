"""The data of the page's box for an error: the error index, the known issues, the language table, and the rules.

The rules are the expressions and limits of reports/findings, unchanged, so that the page gives the command's answers.
assets/why_engine.js has the steps, and a test compares its answers with the command's.
"""

from __future__ import annotations

import json
import re
from typing import Any

from crosswarp.matrix import printable
from crosswarp.matrix.cell.judging import fingerprint
from crosswarp.matrix.facts import errors, known_texts
from crosswarp.reports.findings import (
    answers,
    cause_ranking,
    error_text,
    issue_answers,
    language_answers,
    why,
)


def data() -> dict[str, Any]:
    """Returns all data, ready for JSON."""
    index = errors.committed()
    issues, shims = known_texts.packed()
    finder = why.Finder(issues, shims)
    messages = json.loads(errors.MESSAGES.read_text(encoding="utf-8"))["messages"]
    fields = (*errors.Message._fields, "plain", "anchors")
    return {
        "errors": json.loads(errors.COMPILED.read_text(encoding="utf-8"))["errors"],
        "says": [
            [wording.number, wording.text, wording.triton, list(wording.anchors)]
            for wording in index.wordings
        ],
        "topics": [[topic.number, list(topic.parts)] for topic in index.topics],
        "messages": [dict(zip(fields, message, strict=True)) for message in messages],
        "issues": [_issue(issue) for issue in issues],
        "shims": [{"name": shim.name, "issue": shim.issue} for shim in shims],
        "listed": finder.listed,
        "unread": sorted(finder.unread),
        "names": finder.names,
        "idle": sorted(why.IDLE),
        "language": _language(),
        "rules": {name: _rule(rule) for name, rule in _RULES.items()},
        "marks": list(error_text.MARKS),
        "strong": list(error_text.STRONG),
        "gpus": [list(gpu) for gpu in error_text.GPUS],
        "noise": [[*_rule(pattern), to] for pattern, to in fingerprint.NOISE],
        "pipeline": fingerprint.PIPELINE,
        "traceback": error_text.TRACEBACK,
        "chained": list(error_text.CHAINED),
        "own": list(answers.OWN),
        "inductors": {
            name: getattr(cause_ranking.INDUCTORS, name) for name in ("why", "do", "code")
        },
        "ours": why.OURS.pattern,
        "limits": _LIMITS,
    }


_RULES = {
    "ansi": printable.ANSI, "command": printable.COMMAND, "stream": error_text.STREAM, "rank": error_text.RANK,
    "front": error_text.FRONT,
    "header": error_text.HEADER, "byPytest": error_text.SAID_BY_PYTEST, "failedLine": error_text.FAILED_LINE,
    "sourceLine": error_text.SOURCE_LINE, "frameLine": error_text.FRAME_LINE, "caret": error_text.CARET,
    "saidByPython": error_text.SAID_BY_PYTHON, "namedFile": error_text.NAMED_FILE, "package": error_text.PACKAGE,
    "folder": error_text.FOLDER, "elided": issue_answers.ELIDED,
    "frame": error_text.FRAME, "library": error_text.LIBRARY,
    "passing": error_text.PASSING, "others": error_text.OTHERS, "place": error_text.PLACE,
    "generated": error_text.GENERATED,
    "triton": error_text.TRITON, "torch": error_text.TORCH, "sm": error_text.SM, "pythons": issue_answers.PYTHONS,
    "builtIn": issue_answers.BUILT_IN,
    "written": cause_ranking.WRITTEN,
    "whyFront": why.FRONT, "word": why.WORD, "assertion": fingerprint.ASSERTION,
    "unreachable": fingerprint.UNREACHABLE_TEXT, "llvmError": fingerprint.LLVM_ERROR, "ptxas": fingerprint.PTXAS,
    "mlirError": fingerprint.MLIR_ERROR, "pass": fingerprint.PASS, "keyword": language_answers.KEYWORD,
    **{f"missing{n}": pattern for n, pattern in enumerate(language_answers.WANTED)},
}  # fmt: skip
_LIMITS = {
    "whole": error_text.WHOLE, "lines": error_text.MOST, "text": error_text.MOST_TEXT,
    "failure": error_text.OF_FAILURE, "before": error_text.BEFORE, "after": error_text.AFTER,
    "line": error_text.LONGEST_LINE, "long": answers.LONG, "behind": issue_answers.BEHIND, "quoted": answers.QUOTED,
    "most": answers.MOST, "few": issue_answers.FEW, "alike": issue_answers.ALIKE,
    "title": answers.TITLE, "titleLines": answers.TITLE_LINES, "covered": issue_answers.COVERED,
}  # fmt: skip


def _rule(pattern: re.Pattern[str]) -> list[str]:
    """Its text, and its flags as a script spells them."""
    flags = ((re.I, "i"), (re.M, "m"), (re.S, "s"))
    return [pattern.pattern, "".join(name for flag, name in flags if pattern.flags & flag)]


def _issue(issue: known_texts.Known) -> dict[str, Any]:
    return {
        "id": issue.id, "title": issue.title, "status": issue.status, "triton": issue.triton,
        "targets": list(issue.targets), "lanes": list(issue.lanes), "kernels": list(issue.kernels),
        "fingerprint": issue.fingerprint,
        "links": list(issue.links), "fixed_in": issue.fixed_in, "workaround": issue.workaround, "shim": issue.shim,
    }  # fmt: skip


def _language() -> dict[str, Any]:
    return {
        "table": language_answers.table_names(),
        "short": [list(pair) for pair in language_answers.SHORT],
        "order": list(language_answers.ORDER),
        "words": {
            "pairs": language_answers.PAIRS,
            "whole": language_answers.WHOLE,
            "ask": language_answers.ASK,
            "old": {
                name: getattr(language_answers.OLD, name) for name in ("why", "do", "log", "triton")
            },
            "legacy": {
                name: getattr(language_answers.LEGACY, name) for name in ("why", "do", "log")
            },
            "print": language_answers.PRINT,
            "spelling": language_answers.SPELLING,
        },
    }
