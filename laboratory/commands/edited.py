"""`crosswarp fuzz --suite`: a suite's own kernels, edited so that nothing may change, beside the unedited ones."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from crosswarp.laboratory.fuzzing import edited_run
from crosswarp.laboratory.fuzzing.edited_run import EditedRun, EditPlace
from crosswarp.laboratory.fuzzing.metamorphic import Comparison, EditFinding
from crosswarp.laboratory.reproducing import edited, fuzzed
from crosswarp.matrix import versions
from crosswarp.matrix.environments import here
from crosswarp.matrix.environments.here import Here
from crosswarp.matrix.errors import EXIT_EXPECTED, EXIT_UNEXPECTED, EXIT_USAGE, UsageError
from crosswarp.matrix.facts import selection, targets
from crosswarp.matrix.facts.columns import Column
from crosswarp.matrix.running.plan import Plan, default_jobs
from crosswarp.matrix.running.progress import progress
from crosswarp.matrix.running.run import Prepare
from crosswarp.matrix.work.suite import Suite
from crosswarp.reports.commands import placing
from crosswarp.reports.commands.options import (
    add_globs,
    at_hand,
    known_issues,
    target_table,
)
from crosswarp.reports.text import escape

_MODULES_ONLY = (
    "--programs and --replay number generated programs, and --suite and --kernels edit a suite's. Leave out either "
    "two."
)


def add_edited(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--suite", type=Path, metavar="DIR",
        help="instead of generated programs edit the kernels of this folder so that nothing may change "
        "(--kernels alone: crosswarp's own)",
    )  # fmt: skip
    add_globs(
        group,
        ("kernels", "which of them to edit (default: all)"),
        ("cases", "which cases of them to run (all)"),
    )


def asked(options: argparse.Namespace) -> bool:
    """Whether a suite is to be edited."""
    return options.suite is not None or options.kernels is not None


def run(options: argparse.Namespace, argv: Sequence[str], default_targets: str) -> int:
    if options.programs is not None or options.replay is not None:
        raise UsageError(_MODULES_ONLY)
    suite = options.suite.resolve() if options.suite else None
    names = edited_run.names(suite, selection.split(options.kernels or ["*"]))
    table = target_table(options)
    on = targets.choose(table, selection.split(options.targets or [default_targets]))
    found = _in_order(_at_hand(options) if options.here else _columns(options))
    folder = options.work / "fuzz" / f"edits-{options.seed}"
    folder.mkdir(parents=True, exist_ok=True)
    planned = Plan(
        # The lane emulate compiles as well.
        work=Suite(suite), columns=(), targets=on, lanes=("emulate",), modes=("bare",),
        jobs=options.jobs or default_jobs(),
        cases=tuple(selection.split(options.cases or ["*"])),
        time_limit=options.time_limit, time_limit_alone=3 * options.time_limit,
        memory_limit_mb=options.memory_limit, take="verdicts",
    )  # fmt: skip
    issues = () if options.everything else known_issues(options)
    findings: dict[tuple[str, ...], EditFinding] = {}
    ends = time.monotonic() + 60 * options.minutes
    last = Comparison()
    with progress() as shown:
        running = EditedRun(
            found, planned, suite, options.seed, folder, options.work, issues, shown, argv
        )
        for last in running.until(ends, names):
            for finding in last.found:
                if finding.key in findings:
                    continue
                findings[finding.key] = finding
                where = edited.write(finding, running.suite_folder, table, folder / "findings")
                known = f"known: {finding.issue}" if finding.issue else "new"
                print(f"{finding.name}: {fuzzed.sentence(finding)}; {known}; {where}", flush=True)
    return _ended(last, running, len(names), list(findings.values()))


def _ended(
    last: Comparison, running: EditedRun, kernels: int, findings: Sequence[EditFinding]
) -> int:
    edits = [edit for edit in running.edits if not edit.exact]
    exact = len(running.edits) - len(edits)
    in_ring = f" ({exact} of them in FPSan as well)" if exact else ""
    print(
        f"{len(edits)} edits{in_ring} of {len({edit.kernel for edit in edits})} of {kernels} kernels; {last.compared} "
        f"cells whose unedited one passes, {last.passed} of them pass as well"
    )
    print(f"not counted against any Triton: {len(last.refused)} edits that no column compiles")
    for name in last.refused:
        print(f"  {escape.terminal(name)}")
    for why, count in sorted(last.doubted.items()):
        print(f"not believed, {escape.terminal(why)}: {count}")
    new = [finding for finding in findings if not finding.issue]
    if new:
        print(f"{len(new)} new: {', '.join(escape.terminal(one.name) for one in new)}")
        return EXIT_UNEXPECTED
    # Passing without having compared anything would be misleading.
    return EXIT_EXPECTED if last.compared else EXIT_USAGE


def _in_order(found: Sequence[EditPlace]) -> list[EditPlace]:
    return sorted(found, key=lambda one: versions.sort_key(one.release))


def _at_hand(options: argparse.Namespace) -> list[EditPlace]:
    def look(python: Path) -> Here:
        # As a suite needs it: with crosswarp, pytest and numpy, and with an identity that shows changes.
        return here.look(python).identified(options.suite, Path.cwd(), os.environ)

    return [
        EditPlace(Column(id=name), one.versions["triton"], partial(_same, one), here=True)
        for name, one in at_hand(options, look)
    ]


def _same(one: Here) -> Prepare:
    return one


def _columns(options: argparse.Namespace) -> list[EditPlace]:
    return [
        EditPlace(column, column.triton or "", partial(placing.builder, options), here=False)
        for column in placing.chosen(options, "founding")
    ]
