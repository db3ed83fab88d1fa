"""What shows a cell again: the command that runs its kernel, and `crosswarp reproduce`, a script of its own."""

from __future__ import annotations

import argparse
import difflib
import re
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from crosswarp.matrix.errors import UsageError
from crosswarp.matrix.facts import issues, targets
from crosswarp.matrix.results.record import Record
from crosswarp.matrix.results.store import Run, Store
from crosswarp.matrix.running.revision import revision
from crosswarp.reports.findings.causes import Cause, unexpected
from crosswarp.reports.findings.view import View, view
from crosswarp.reports.reproducing.reproducer import script
from crosswarp.reports.text import escape, folder

_LONGEST = 200
_OUT = Path(".crosswarp/reproduce")


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


def run(options: argparse.Namespace, argv: Sequence[str]) -> int:
    known = issues.load(options.issues_file or issues.DEFAULT_FILE)
    table = targets.load(options.targets_file or targets.DEFAULT_FILE)
    with Store(options.store, must_exist=True) as store:
        shown = view(store, known, options.run)
    suite = options.suite or suite_of(shown)
    _warn_of_changes(shown, suite)
    if options.cell is None:
        files = {
            file_name(cause): script(typical(cause), suite, table, file_name(cause))
            for cause in unexpected(shown)
        }
        folder.write(options.out or _OUT, files)
        print("\n".join(escape.terminal(str((options.out or _OUT) / name)) for name in files))
        if not files:
            print(f"run {shown.run.id} has nothing red that no known issue explains. Name a cell.")
        return 0
    record = _cell(shown, options.cell)
    text = script(record, suite, table, options.out.name if options.out else "reproduce.py")
    if options.out is None:
        print(text, end="")
        return 0
    try:
        options.out.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(
            f"--out {options.out}: {error.strerror or error}. Name a file that can be written."
        ) from None
    print(escape.terminal(str(options.out)))
    return 0


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


def _cell(shown: View, wanted: str) -> Record:
    for record in shown.records:
        # As it is stored, or as reports print it.
        if wanted in (record.id, escape.line(record.id)) or f"{wanted}/" == record.id:
            if not record.red:
                raise UsageError(f"{wanted} is {record.outcome}. Name a red cell.")
            return record
    # Of what is endless the beginning tells enough, and to compare the rest takes for ever.
    red = [escape.line(record.id, 300) for record in shown.records if record.red]
    near = difflib.get_close_matches(wanted[:300], red, 3, 0)
    raise UsageError(
        f'run {shown.run.id} has no cell "{wanted}". '
        + (
            f"Near it: {', '.join(near)}."
            if near
            else "Nothing in it is red: name another run with --run."
        )
    )


def _warn_of_changes(shown: View, suite: Path | None) -> None:
    """A script of what the file is now may not show what it was."""
    ran = str(shown.run.plan.get("commit") or "")
    here = revision(suite) if suite else ""
    if ran and here and ran != here:
        print(
            f"The suite has changed since run {shown.run.id}: it was at {escape.line(ran, 12)}, and is at {here[:12]}.",
            file=sys.stderr,
        )


def _given(run: Run, option: str) -> list[str]:
    """An option of the run's own command line, which its plan does not keep."""
    for number, word in enumerate(run.argv):
        if word == option and number + 1 < len(run.argv):
            return [option, run.argv[number + 1]]
        if word.startswith(f"{option}="):
            return [option, word.partition("=")[2]]
    return []
