"""`crosswarp reproduce`: a failing cell as one script for a report; it needs only torch and triton if it can."""

from __future__ import annotations

import argparse
import difflib
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from crosswarp.matrix.errors import UsageError
from crosswarp.matrix.results.record import Record
from crosswarp.matrix.results.store import Store
from crosswarp.matrix.running.revision import revision
from crosswarp.reports.commands.options import (
    add_files,
    add_run,
    add_store,
    known_issues,
    target_table,
    write_out,
)
from crosswarp.reports.commands.own_tests import checkout
from crosswarp.reports.findings.causes import unexpected
from crosswarp.reports.findings.view import View, view
from crosswarp.reports.reproducing import needs, own_test
from crosswarp.reports.reproducing.reproduce import (
    ending,
    file_name,
    is_of_library,
    suite_of,
    typical,
)
from crosswarp.reports.reproducing.reproducer import script
from crosswarp.reports.text import escape, folder

DESCRIPTION = (
    "Write a script that shows a failing cell, to attach to an upstream report: the kernel, launcher, reference and "
    "the one case, which need torch and triton alone, and what of other packages the kernel's module imports; of a "
    "library's test, what to install and its pytest. Without CELL: one for each root cause of the run that no known "
    "issue explains, into --out."
)
EXAMPLES = (
    "crosswarp reproduce",
    "crosswarp reproduce triton-3.2.0/sm_90/compile/bare/softmax/fp16/ --out bug.py",
)
_OUT = Path(".crosswarp/reproduce")


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "cell", nargs="?", metavar="CELL",
        help="as reports name it: triton-3.2.0/sm_90/compile/bare/KERNEL/CASE/CONFIG",
    )  # fmt: skip
    parser.add_argument(
        "--out", type=Path, metavar="PATH",
        help="a file for CELL (default: standard output), else a folder (.crosswarp/reproduce)",
    )  # fmt: skip
    parser.add_argument(
        "--suite", type=Path, metavar="DIR", help="where its kernels are (default: where the run had them)"
    )  # fmt: skip
    parser.add_argument(
        "--library", type=Path, default=Path("."), metavar="PATH",
        help="of a library's tests, its checkout (.)",
    )  # fmt: skip
    add_run(parser)
    add_files(parser, "targets", "issues")
    add_store(parser)


def run(options: argparse.Namespace, argv: Sequence[str]) -> int:
    known = known_issues(options, options.library)
    with Store(options.store, read_only=True) as store:
        shown = view(store, known, options.run)
    make = _of_library(options, shown) if is_of_library(shown) else _of_suite(options, shown)
    if options.cell is None:
        files = {
            file_name(cause, shown): make(typical(cause), file_name(cause, shown))
            for cause in unexpected(shown)
        }
        folder.write(options.out or _OUT, files)
        print("\n".join(escape.terminal(str((options.out or _OUT) / name)) for name in files))
        if not files:
            print(f"run {shown.run.id} has no failure that no known issue explains. Name a cell.")
        return 0
    record = _cell(shown, options.cell)
    text = make(record, options.out.name if options.out else f"reproduce{ending(shown)}")
    if write_out(text, options.out):
        print(escape.terminal(str(options.out)))
    return 0


def _of_suite(options: argparse.Namespace, shown: View) -> Callable[[Record, str], str]:
    suite, table = options.suite or suite_of(shown), target_table(options)
    _warn_of_changes(shown, suite, "suite")
    return lambda record, name: script(
        record, suite, table, name, needs.of_suite(shown, record.column)
    )


def _of_library(options: argparse.Namespace, shown: View) -> Callable[[Record, str], str]:
    root, table = checkout(options.library), target_table(options)
    _warn_of_changes(shown, root, "library")
    return lambda record, name: own_test.script(shown, record, root, table, name)


def _cell(shown: View, wanted: str) -> Record:
    for record in shown.records:
        # As it is stored, or as reports print it.
        if wanted in (record.id, escape.line(record.id)) or f"{wanted}/" == record.id:
            if not record.red:
                raise UsageError(f"{wanted} is {record.outcome}. Name a failing cell.")
            return record
    # 300 characters of an id are enough; comparing megabytes takes too long.
    red = [escape.line(record.id, 300) for record in shown.records if record.red]
    near = difflib.get_close_matches(wanted[:300], red, 3, 0)
    raise UsageError(
        f'run {shown.run.id} has no cell "{wanted}". '
        + (
            f"Near it: {', '.join(near)}."
            if near
            else "Nothing in it fails: name another run with --run."
        )
    )


def _warn_of_changes(shown: View, place: Path | None, what: str) -> None:
    """A script of what the file is now may not show what it was."""
    ran = shown.run.described.commit
    here = revision(place) if place else ""
    if ran and here and ran != here:
        print(
            f"The {what} has changed since run {shown.run.id}: it was at {escape.line(ran, 12)}, and is at "
            f"{here[:12]}.",
            file=sys.stderr,
        )
