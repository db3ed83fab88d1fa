"""Trials of `crosswarp bisect` and `crosswarp blame`: one kernel on one column at a time, and its failures."""

from __future__ import annotations

import argparse
import glob
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from crosswarp.matrix.cell.kinds.library_tests import names
from crosswarp.matrix.environments.beside import Beside
from crosswarp.matrix.environments.environment import Builder
from crosswarp.matrix.environments.uvtool import Uv
from crosswarp.matrix.errors import UsageError
from crosswarp.matrix.facts import selection, targets
from crosswarp.matrix.facts.columns import Column
from crosswarp.matrix.facts.issues import Issue
from crosswarp.matrix.facts.targets import Target
from crosswarp.matrix.results.cause import RootCause, cause_of, words
from crosswarp.matrix.results.record import LANES, MODES, Record
from crosswarp.matrix.results.store import Store
from crosswarp.matrix.running import plan
from crosswarp.matrix.running.bisection import Trial
from crosswarp.matrix.running.progress import progress
from crosswarp.matrix.running.revision import revision
from crosswarp.matrix.running.run import Prepare
from crosswarp.matrix.work import library_tests, suite_modules
from crosswarp.matrix.work.suite import Suite
from crosswarp.reports.commands import own_tests
from crosswarp.reports.commands.options import (
    TIME_LIMIT,
    add_files,
    add_limits,
    add_store,
    add_work,
    alone,
    check_work,
    column_table,
    known_issues,
    target_table,
)
from crosswarp.reports.commands.own_tests import Library
from crosswarp.reports.text import advice
from crosswarp.reports.text.layout import row


def add_trial(parser: argparse.ArgumentParser) -> None:
    """How one kernel, or one test of a library, is tried on one column at a time."""
    for name, default, meaning in (
        ("target", "sm_90", "(sm_90)"),
        ("lane", "compile", "compile, emulate, interpret, device (compile)"),
        ("mode", "bare", "bare: without compat, shimmed: with compat (bare)"),
    ):
        parser.add_argument(f"--{name}", default=default, metavar=name.upper(), help=meaning)
    parser.add_argument(
        "--case", default="*", metavar="GLOB", help="only these cases count (default: all)"
    )
    parser.add_argument(
        "--suite", type=Path, metavar="DIR", help="a folder of kernel modules instead of ours"
    )
    own_tests.add_library(
        parser, "KERNEL is a test of the library in this checkout (default: . for FILE::FUNCTION)"
    )
    add_limits(parser)
    # A library's settings have their own.
    parser.set_defaults(time_limit=None)
    add_work(parser)
    add_files(parser, "columns", "targets", "issues")
    add_store(parser)


@contextmanager
def trial(
    options: argparse.Namespace,
    argv: Sequence[str],
    prepare: Callable[[Column, Callable[[str], None]], Prepare],
    at_hand: bool = False,
) -> Iterator[tuple[Trial, Sequence[Issue]]]:
    library = _library(options)
    known = known_issues(options, library.root if library else Path())
    if library is None:
        wanted = planned(options, at_hand)
    else:
        folders: dict[str, tuple[Path, ...]] = {}
        wanted = _of_library(options, library, folders, at_hand)
        prepare = prepare if at_hand else _beside(library, prepare, options.work, folders)
    check_work(options.work)
    with progress() as shown, Store(options.store) as store:
        if skipped := suite_modules.left_out(_suite(options)):
            shown.say(skipped)
        # Only the library's tests that ran count, or whose file could not be imported.
        judged, none = (None, "") if library is None else ("*", "no such test was collected")
        yield (
            Trial(
                wanted, options.case, store, options.work, lambda column: prepare(column, shown.say),
                shown, known, argv, at_hand, judged, none,
            ),
            known,
        )  # fmt: skip


def planned(options: argparse.Namespace, fresh: bool) -> plan.Plan:
    all_targets = target_table(options)
    suite = _suite(options)
    suite_modules.check_kernels([options.kernel], suite)
    names = suite_modules.kernel_names(suite)
    if options.kernel not in names:
        raise UsageError(f'"{options.kernel}" is no one kernel. There are: {", ".join(names)}.')
    options.time_limit = options.time_limit or TIME_LIMIT
    return replace(
        _plan(options, Suite(suite), all_targets, LANES, fresh),
        kernels=(options.kernel,),
        time_limit_alone=alone(options),
    )


def _suite(options: argparse.Namespace) -> Path | None:
    return options.suite.resolve() if options.suite else None


def _plan(
    options: argparse.Namespace, work: plan.Work, table: Mapping[str, Target], lanes: Sequence[str],
    fresh: bool,
) -> plan.Plan:  # fmt: skip
    # Messages of the search name the target, not the requested product.
    wanted = targets.named(table, selection.split([options.target]))
    options.target = ",".join(wanted)
    return plan.Plan(
        work=work,
        columns=(),
        targets=targets.choose(table, wanted),
        lanes=plan.check_words([options.lane], lanes, "lane"),
        modes=plan.check_words([options.mode], MODES, "mode"),
        jobs=options.jobs or plan.default_jobs(),
        time_limit=options.time_limit,
        memory_limit_mb=options.memory_limit,
        column_limit=options.column_limit,
        # Builds of two commits have one version, and one may not reuse the other's compiled results.
        fresh=fresh,
    )


def _library(options: argparse.Namespace) -> Library | None:
    """The library whose test is tried; no kernel's name holds colons."""
    if options.library is None and "::" not in options.kernel:
        return None
    if options.suite:
        raise UsageError(
            "--suite is a folder of kernels, and what is tried is a library's test. Leave it out."
        )
    return own_tests.library(options.library or Path("."))


def _of_library(
    options: argparse.Namespace, library: Library, folders: Mapping[str, Sequence[Path]], fresh: bool
) -> plan.Plan:  # fmt: skip
    tests = library.tests(beside=folders)
    options.kernel, case = _named(options.kernel, tests.folders)
    options.case = case if options.case == "*" else options.case
    options.time_limit = options.time_limit or library.settings.time_limit
    work = library_tests.of_one(tests, options.kernel, options.case)
    return replace(
        _plan(options, work, target_table(options), library_tests.LANES, fresh),
        commit=revision(library.root),
    )


def _named(text: str, folders: Sequence[str]) -> tuple[str, str]:
    """Kernel and glob of the cases of a test, as reports name it or as pytest does."""
    if text.partition("::")[0].endswith(".py"):
        kernel, case = names.names(text, folders)
        return kernel, "*" if case == names.NO_PARAMETERS else glob.escape(case)
    kernel, _, case = text.partition("/")
    return kernel, glob.escape(case) or "*"


def _beside(
    library: Library,
    prepare: Callable[[Column, Callable[[str], None]], Prepare],
    work: Path,
    folders: dict[str, tuple[Path, ...]],
) -> Callable[[Column, Callable[[str], None]], Prepare]:
    """Returns a function that prepares a column with the library, whose `folders` become known then."""
    last: list[Beside] = []

    def build(column: Column, say: Callable[[str], None]) -> Prepare:
        columns, uv = prepare(column, say), Uv()
        made = last[0].over(columns, uv) if last else library.beside(columns, work, uv, say)
        made.folders = folders
        last[:] = [made]
        return made

    return build


def builder(
    options: argparse.Namespace,
    mains: Mapping[str, Path] = {},
    nightlies: Mapping[str, str] = {},
) -> Callable[[Column, Callable[[str], None]], Prepare]:
    """Makes a new builder for each run, because a run ends by cancelling its own; torch's index is asked once."""
    table = column_table(options)
    folder = (options.work / "envs").absolute()
    last: list[Builder] = []

    def build(column: Column, say: Callable[[str], None]) -> Prepare:
        main = mains.get(column.id)
        nightly = nightlies.get(column.id)
        index = options.index if nightly else None
        made = Builder(folder, table, Uv(), str(main) if main else None, index, say, None, nightly)
        made.cpu_backend = last[0].cpu_backend if last else None
        last[:] = [made]
        return made

    return build


def cause(red: Sequence[Record], known: Sequence[Issue], options: argparse.Namespace) -> list[str]:
    """Returns the failures: each root cause once, with its issue."""
    library = "::" in options.kernel or options.library
    of = "library" if library else "suite" if options.suite else ""
    by_id = {issue.id: issue for issue in known}
    causes: dict[RootCause, list[Record]] = {}
    for record in red:
        # An issue that is no longer known explains nothing.
        name = record.issue if record.issue in by_id else ""
        causes.setdefault(cause_of(record, name), []).append(record)
    lines = []
    for why, records in causes.items():
        first = records[0]
        where = f"{first.target}: {first.case} {first.config}".strip()
        more = f" and {len(records) - 1} more" if len(records) > 1 else ""
        lines += [
            row("outcome", f"{first.outcome}: {words(first)}"),
            row("where", where + more),
        ]
        issue = by_id.get(why.issue)
        if issue is None:
            lines.append(row("known", f"no: {advice.short(of)}"))
            continue
        fixed = f", fixed in {issue.fixed_in}" if issue.fixed_in else ""
        lines.append(row("known", f"{issue.title} [{issue.id}]{fixed}"))
        lines.append(row("upstream", " ".join(issue.links)))
        if issue.shim:
            lines.append(row("shim", issue.shim))
    return lines
