"""What shows a cell again: the command that runs its kernel; which cell of a root cause, and from which folder."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from crosswarp.matrix.errors import UsageError
from crosswarp.matrix.results.record import Record
from crosswarp.matrix.results.store import Run
from crosswarp.reports.findings.causes import Cause
from crosswarp.reports.findings.view import View
from crosswarp.reports.text import escape

_LONGEST = 200


def command(
    run: Run, kernel: str, column: str = "all", lane: str = "", targets: Sequence[str] = (), mode: str = ""
) -> str:  # fmt: skip
    words = ["crosswarp", "run"]
    # The device lane and an interpreter of one's own can only be run where they are.
    if column.startswith("here-") or lane == "device":
        words.append("--here")
    else:
        words += ["--columns", column]
        words += _given(run, "--main") if column == "main" else []
    if targets and lane in ("", "compile", "emulate"):
        words += ["--targets", ",".join(targets)]
    if lane:
        words += ["--lanes", lane]
    if mode:
        words += ["--modes", mode]
    words += ["--kernels", kernel]
    suite = run.plan.get("suite")
    if suite:
        words += ["--suite", str(suite)]
    return shlex.join(escape.line(word, _LONGEST) for word in words)


def suite_of(shown: View) -> Path | None:
    """The folder that the run says its kernels are of; None: our own."""
    named = str(shown.run.plan.get("suite") or "")
    if not named.isprintable():
        raise UsageError(
            f"run {shown.run.id} names no folder of kernels that can be. Name it with --suite."
        )
    return Path(named) if named else None


def typical(cause: Cause) -> Record:
    """Of its cells the one that shows it with the least around it: bare, and one configuration alone."""
    return min(cause.records, key=lambda record: (record.mode != "bare", not record.config))


def file_name(cause: Cause) -> str:
    return f"{re.sub(r'[^A-Za-z0-9_]+', '-', cause.kernels[0])[:60]}-{cause.key[:8]}.py"


def _given(run: Run, option: str) -> list[str]:
    """An option of the run's own command line, which its plan does not keep."""
    for number, word in enumerate(run.argv):
        if word == option and number + 1 < len(run.argv):
            return [option, run.argv[number + 1]]
        if word.startswith(f"{option}="):
            return [option, word.partition("=")[2]]
    return []
