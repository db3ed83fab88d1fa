"""What `crosswarp bisect` and `crosswarp blame` share: one kernel tried on one column at a time, and what was red."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from crosswarp.matrix.environments.environment import Builder
from crosswarp.matrix.environments.uvtool import Uv
from crosswarp.matrix.errors import UsageError
from crosswarp.matrix.facts import selection, targets
from crosswarp.matrix.facts.columns import Column
from crosswarp.matrix.facts.issues import Issue
from crosswarp.matrix.results.cause import RootCause, cause_of, words
from crosswarp.matrix.results.record import MODES, Record
from crosswarp.matrix.results.store import Store
from crosswarp.matrix.running import plan
from crosswarp.matrix.running.bisection import Trial
from crosswarp.matrix.running.progress import progress
from crosswarp.matrix.running.run import Prepare, suite_argv
from crosswarp.reports.commands.options import (
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
from crosswarp.reports.text.layout import row


def add_trial(parser: argparse.ArgumentParser) -> None:
    """How one kernel is tried on one column at a time."""
    for name, default, meaning in (
        ("target", "sm_90", "(sm_90)"),
        ("lane", "compile", "compile, emulate, interpret, device (compile)"),
        ("mode", "bare", "bare, shimmed (bare)"),
    ):
        parser.add_argument(f"--{name}", default=default, metavar=name.upper(), help=meaning)
    parser.add_argument(
        "--case", default="*", metavar="GLOB", help="only these cases count (default: all)"
    )
    parser.add_argument(
        "--suite", type=Path, metavar="DIR", help="a folder of kernel modules instead of ours"
    )
    add_limits(parser)
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
    known = known_issues(options)
    wanted = planned(options, at_hand)
    check_work(options.work)
    with progress() as shown, Store(options.store) as store:
        if skipped := plan.left_out(wanted.suite):
            shown.say(skipped)
        yield (
            Trial(
                wanted, options.case, store, options.work, lambda column: prepare(column, shown.say),
                shown, known, argv, suite_argv, at_hand,
            ),
            known,
        )  # fmt: skip


def planned(options: argparse.Namespace, fresh: bool) -> plan.Plan:
    all_targets = target_table(options)
    suite = options.suite.resolve() if options.suite else None
    plan.check_kernels([options.kernel], suite)
    names = plan.kernel_names(suite)
    if options.kernel not in names:
        raise UsageError(f'"{options.kernel}" is no one kernel. There are: {", ".join(names)}.')
    # What is told of the search names the target, and not the product that was asked for.
    wanted = targets.named(all_targets, selection.split([options.target]))
    options.target = ",".join(wanted)
    return plan.Plan(
        columns=(),
        targets=targets.choose(all_targets, wanted),
        lanes=plan.check_lanes([options.lane]),
        modes=plan.check_words([options.mode], MODES, "mode"),
        kernels=(options.kernel,),
        jobs=options.jobs or plan.default_jobs(),
        time_limit=options.time_limit,
        time_limit_alone=alone(options),
        memory_limit_mb=options.memory_limit,
        column_limit=options.column_limit,
        suite=suite,
        # Builds of two commits bear one version, and one may not pass with what the other compiled.
        fresh=fresh,
    )


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


def cause(red: Sequence[Record], known: Sequence[Issue]) -> list[str]:
    """What is red: each root cause once, with its issue."""
    by_id = {issue.id: issue for issue in known}
    causes: dict[RootCause, list[Record]] = {}
    for record in red:
        # An issue that nobody knows any more explains nothing.
        name = record.issue if record.issue in by_id else ""
        causes.setdefault(cause_of(record, name), []).append(record)
    lines = []
    for one, records in causes.items():
        first = records[0]
        where = f"{first.target}: {first.case} {first.config}".strip()
        more = f" and {len(records) - 1} more" if len(records) > 1 else ""
        lines += [
            row("outcome", f"{first.outcome}: {words(first)}"),
            row("where", where + more),
        ]
        issue = by_id.get(one.issue)
        if issue is None:
            lines.append(row("known", "no: report it upstream and add it to issues.toml"))
            continue
        fixed = f", fixed in {issue.fixed_in}" if issue.fixed_in else ""
        lines.append(row("known", f"{issue.title} [{issue.id}]{fixed}"))
        lines.append(row("upstream", " ".join(issue.links)))
        if issue.shim:
            lines.append(row("shim", issue.shim))
    return lines
