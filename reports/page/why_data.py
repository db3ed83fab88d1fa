"""What the page's box for an error needs: the error index, the known issues, the language table, and the rules.

The rules are the expressions and limits of reports/findings as they stand there, so that a page knows what the command
knows; assets/why_engine.js has the steps, and a test compares its answers with the command's.
"""

from __future__ import annotations

import json
import re
from typing import Any

from crosswarp.matrix import printable
from crosswarp.matrix.cell.judging import fingerprint
from crosswarp.matrix.facts import errors, known_texts
from crosswarp.reports.findings import answers, error_text, language_answers, why


def data() -> dict[str, Any]:
    """All of it, as JSON takes it."""
    index = errors.committed()
    issues, shims = known_texts.packed()
    finder = why._Finder(issues, shims)
    said = json.loads(errors.MESSAGES.read_text(encoding="utf-8"))["messages"]
    fields = (*errors.Message._fields, "plain", "anchors")
    return {
        "errors": json.loads(errors.COMPILED.read_text(encoding="utf-8"))["errors"],
        "says": [[one.number, one.text, one.triton, list(one.anchors)] for one in index.wordings],
        "messages": [dict(zip(fields, one, strict=True)) for one in said],
        "issues": [_issue(one) for one in issues],
        "shims": [{"name": one.name, "issue": one.issue} for one in shims],
        "listed": [
            [number, why._words(why._OPEN.sub(" ", text)), not why._CUT.search(text)]
            for number, issue in enumerate(issues)
            for text in (*known_texts.texts(issue, shims), issue.title)
        ],
        "unread": sorted(finder.unread),
        "names": finder.names,
        "idle": sorted(why._IDLE),
        "language": _language(),
        "rules": {name: _rule(one) for name, one in _RULES.items()},
        "gpus": [list(one) for one in error_text._GPUS],
        "noise": [[*_rule(pattern), to] for pattern, to in fingerprint._NOISE],
        "pipeline": fingerprint._PIPELINE,
        "traceback": error_text._TRACEBACK,
        "chained": list(error_text._CHAINED),
        "own": list(answers._OWN),
        "ours": why._OURS.pattern,
        "limits": _LIMITS,
    }


_RULES = {
    "ansi": printable._ANSI, "command": printable._COMMAND, "stream": error_text._STREAM, "front": error_text._FRONT,
    "header": error_text._HEADER, "byPytest": error_text._SAID_BY_PYTEST, "failedLine": error_text._FAILED_LINE,
    "sourceLine": error_text._SOURCE_LINE, "frame": error_text._FRAME, "generated": error_text._GENERATED,
    "triton": error_text._TRITON, "torch": error_text._TORCH, "sm": error_text._SM, "pythons": answers._PYTHONS,
    "whyFront": why._FRONT, "word": why._WORD, "assertion": fingerprint._ASSERTION,
    "unreachable": fingerprint._UNREACHABLE, "llvmError": fingerprint._LLVM_ERROR, "ptxas": fingerprint._PTXAS,
    "mlirError": fingerprint._MLIR_ERROR, "pass": fingerprint._PASS, "keyword": language_answers._KEYWORD,
    "mark": re.compile(error_text._MARK.pattern.decode()),
    **{f"missing{n}": one for n, one in enumerate(language_answers._WANTED)},
}  # fmt: skip
_LIMITS = {
    "whole": error_text._WHOLE, "lines": error_text._MOST, "text": error_text._MOST_TEXT,
    "failure": error_text._OF_FAILURE, "before": error_text._BEFORE, "after": error_text._AFTER,
    "line": error_text._LONGEST_LINE, "long": answers._LONG, "behind": answers._BEHIND, "most": answers._MOST,
    "few": answers._FEW, "alike": answers._ALIKE,
}  # fmt: skip


def _rule(pattern: re.Pattern[str]) -> list[str]:
    """Its text, and its flags as a script spells them."""
    flags = ((re.I, "i"), (re.M, "m"), (re.S, "s"))
    return [pattern.pattern, "".join(name for flag, name in flags if pattern.flags & flag)]


def _issue(one: known_texts.Known) -> dict[str, Any]:
    return {
        "id": one.id, "title": one.title, "status": one.status, "triton": one.triton, "targets": list(one.targets),
        "lanes": list(one.lanes), "kernels": list(one.kernels), "fingerprint": one.fingerprint,
        "links": list(one.links), "fixed_in": one.fixed_in, "workaround": one.workaround, "shim": one.shim,
    }  # fmt: skip


def _language() -> dict[str, Any]:
    return {
        "table": language_answers._names(),
        "short": [list(one) for one in language_answers._SHORT],
        "order": list(language_answers._ORDER),
        "words": {
            "pairs": language_answers._PAIRS,
            "whole": language_answers.WHOLE,
            "print": language_answers.PRINT,
            "spelling": language_answers.SPELLING,
        },
    }
