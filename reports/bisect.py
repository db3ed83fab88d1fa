"""`crosswarp bisect`: the first bad release for one kernel, or with --here the verdict on one interpreter."""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from tabulate import tabulate

from crosswarp.matrix import bisection, here, issues, plan, selection
from crosswarp.matrix import columns as columns_module
from crosswarp.matrix import targets as targets_module
from crosswarp.matrix.bisection import Found, Seen, Trial, WrongEnd
from crosswarp.matrix.columns import Column
from crosswarp.matrix.environment import Builder
from crosswarp.matrix.errors import Cancelled, CrosswarpError, EnvironmentFailed, UsageError
from crosswarp.matrix.issues import Issue
from crosswarp.matrix.progress import progress
from crosswarp.matrix.record import MODES, Record
from crosswarp.matrix.run import Prepare, suite_argv
from crosswarp.matrix.store import Store
from crosswarp.matrix.uvtool import Uv
from crosswarp.reports import escape
from crosswarp.reports.layout import fill, row

# What `git bisect run` takes for an answer; from 128 on it stops.
GIT = {"good": 0, "bad": 1, "cannot say": 125}


def run(options: argparse.Namespace, argv: Sequence[str]) -> int:
    if options.here:
        return _judge_here(options, argv)
    return _search(options, argv)


def _search(options: argparse.Namespace, argv: Sequence[str]) -> int:
    if not (options.good and options.bad):
        raise UsageError(
            "bisect needs --good and --bad, two releases (or --here). `crosswarp columns` lists them."
        )
    history, mains = _history(options)
    ids = [column.id for column in history]
    good = bisection.position(ids, options.good, "--good")
    bad = bisection.position(ids, options.bad, "--bad")
    if good == bad:
        raise UsageError(f"--good and --bad both name {ids[good]}. Name two releases.")
    # From a newer good one down to an older bad one: the same search finds what mended it.
    mended = good > bad
    history = history[bad : good + 1][::-1] if mended else history[good : bad + 1]
    seen: dict[str, Seen] = {}
    with _trial(options, argv, _builder(options, mains)) as (trial, known):

        def ask(at: int) -> bisection.Answer:
            seen[history[at].id] = trial(history[at])
            return seen[history[at].id].answer

        try:
            found = bisection.search(len(history), ask)
        except WrongEnd as error:
            raise _wrong_end(history[error.position].id, error, seen) from None
    print(_text(options, [column.id for column in history], found, seen, known, mended), end="")
    return 0


def _history(options: argparse.Namespace) -> tuple[list[Column], Mapping[str, Path]]:
    """What is searched, oldest first, and the wheels that it consists of."""
    table = columns_module.load(options.columns_file or columns_module.DEFAULT_FILE)
    if options.wheels is None:
        return bisection.published(table), {}
    made = bisection.wheels(options.wheels.resolve(), table)
    return [column for column, _ in made.values()], {name: path for name, (_, path) in made.items()}


def _judge_here(options: argparse.Namespace, argv: Sequence[str]) -> int:
    """Exit status for `git bisect run`. What is no verdict must never pass for one, so it is 125, whatever it is."""
    try:
        if options.good or options.bad or options.wheels:
            raise UsageError("--here judges one interpreter. Leave out --good, --bad and --wheels.")
        looked = here.look(Path(os.path.abspath(options.here)))
        with _trial(options, argv, lambda column, say: looked, True) as (trial, known):
            seen = trial(looked.column)
    except Cancelled:
        raise
    except CrosswarpError as error:
        print(f"crosswarp: {escape.terminal(str(error))}", file=sys.stderr)
        return GIT["cannot say"]
    except Exception:
        traceback.print_exc()
        return GIT["cannot say"]
    why = "" if seen.red else f" ({seen.why})"
    print(fill("", escape.line(f"{options.kernel} on {looked.column.id}: {seen.answer}{why}")))
    for line in _cause(seen, known):
        print(line)
    return GIT[seen.answer]


@contextmanager
def _trial(
    options: argparse.Namespace,
    argv: Sequence[str],
    prepare: Callable[[Column, Callable[[str], None]], Prepare],
    at_hand: bool = False,
) -> Iterator[tuple[Trial, Sequence[Issue]]]:
    known = issues.load(options.issues_file or issues.DEFAULT_FILE)
    planned = _plan(options)
    try:
        options.work.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"--work {options.work}: {error.strerror or error}. Name a folder that can be written."
        ) from None
    with progress() as shown, Store(options.store) as store:
        yield (
            Trial(
                planned, options.case, store, options.work, lambda column: prepare(column, shown.say),
                shown, known, argv, suite_argv, at_hand,
            ),
            known,
        )  # fmt: skip


def _plan(options: argparse.Namespace) -> plan.Plan:
    all_targets = targets_module.load(options.targets_file or targets_module.DEFAULT_FILE)
    suite = options.suite.resolve() if options.suite else None
    plan.check_kernels([options.kernel], suite)
    names = plan.kernel_names(suite)
    if options.kernel not in names:
        raise UsageError(f'"{options.kernel}" is no one kernel. There are: {", ".join(names)}.')
    return plan.Plan(
        columns=(),
        targets=targets_module.choose(all_targets, selection.split([options.target])),
        lanes=plan.check_lanes([options.lane]),
        modes=plan.check_words([options.mode], MODES, "mode"),
        kernels=(options.kernel,),
        jobs=options.jobs or plan.default_jobs(),
        time_limit=options.time_limit,
        memory_limit_mb=options.memory_limit,
        column_limit=options.column_limit,
        suite=suite,
        # Builds of two commits bear one version, and one may not pass with what the other compiled.
        fresh=bool(options.here),
    )


def _builder(
    options: argparse.Namespace, mains: Mapping[str, Path]
) -> Callable[[Column, Callable[[str], None]], Prepare]:
    """Makes a new builder for each run, because a run ends by cancelling its own; torch's index is asked once."""
    table = columns_module.load(options.columns_file or columns_module.DEFAULT_FILE)
    folder = (options.work / "envs").absolute()
    last: list[Builder] = []

    def build(column: Column, say: Callable[[str], None]) -> Prepare:
        main = mains.get(column.id)
        made = Builder(folder, table, Uv(), str(main) if main else None, None, say)
        made.cpu_backend = last[0].cpu_backend if last else None
        last[:] = [made]
        return made

    return build


def _wrong_end(column: str, error: WrongEnd, seen: Mapping[str, Seen]) -> CrosswarpError:
    found = seen[column]
    option = "--good" if error.position == 0 else "--bad"
    verb = "" if found.answer == "cannot say" else "is "
    message = (
        f"{column} was to be {option[2:]}; it {verb}{found.answer} ({found.why})\n"
        f"Name another with {option}, or look closer: crosswarp report --run {found.run}"
    )
    failed = found.answer == "cannot say" and found.environment
    return EnvironmentFailed(message) if failed else UsageError(message)


def _text(
    options: argparse.Namespace,
    ids: Sequence[str],
    found: Found,
    seen: Mapping[str, Seen],
    known: Sequence[Issue],
    mended: bool,
) -> str:
    what = f"{options.kernel}, {options.target}, {options.lane}, {options.mode}"
    if options.case != "*":
        what += f", cases {options.case}"
    rows = [
        [one.run, escape.line(column, 30), one.answer, escape.line(one.why, 30)]
        for column, one in ((ids[at], seen[ids[at]]) for at, _ in found.asked)
    ]
    bad = seen[ids[found.first_bad]]
    parts = [
        fill("", escape.line(f"{what}: good on {ids[0]}, bad on {ids[-1]}")),
        tabulate(rows, ["run", "release", "verdict", "seen"], disable_numparse=True),
        "\n".join([*_conclusion(ids, found, mended), *_cause(bad, known)]),
        *_remarks(ids, found, seen),
    ]
    return "\n\n".join(parts) + "\n"


def _conclusion(ids: Sequence[str], found: Found, mended: bool) -> list[str]:
    good, bad = ids[found.last_good], ids[found.first_bad]
    between = [ids[at] for at in found.between]
    if mended:
        text = f"First good: {good}. {bad} is the last bad one"
    else:
        text = f"First bad: {bad}. {good} is the last good one"
    if between:
        text += f", as far as can be told: {', '.join(between)} could not say"
    return [fill("", escape.line(f"{text}."))]


def _cause(seen: Seen, known: Sequence[Issue]) -> list[str]:
    """What is red: each outcome and fingerprint once, with its issue."""
    causes: dict[tuple[str, str, str], list[Record]] = {}
    for record in seen.red:
        causes.setdefault((record.outcome, record.fingerprint, record.issue), []).append(record)
    by_id = {issue.id: issue for issue in known}
    lines = []
    for (outcome, fingerprint, name), records in causes.items():
        first = records[0]
        where = f"{first.target}: {first.case} {first.config}".strip()
        more = f" and {len(records) - 1} more" if len(records) > 1 else ""
        lines += [
            row("outcome", f"{outcome}: {fingerprint or first.reason}"),
            row("where", where + more),
        ]
        issue = by_id.get(name)
        if issue is None:
            lines.append(row("known", "no: report it upstream and add it to issues.toml"))
            continue
        fixed = f", fixed in {issue.fixed_in}" if issue.fixed_in else ""
        lines.append(row("known", f"{issue.title} [{issue.id}]{fixed}"))
        lines.append(row("upstream", " ".join(issue.links)))
        if issue.shim:
            lines.append(row("shim", issue.shim))
    return lines


def _remarks(ids: Sequence[str], found: Found, seen: Mapping[str, Seen]) -> list[str]:
    lines = []
    end, first = seen[ids[-1]], seen[ids[found.first_bad]]
    causes = [{(r.outcome, r.fingerprint) for r in one.red} for one in (first, end)]
    if not causes[0] & causes[1]:
        lines.append(f"{ids[-1]} fails in another way: {end.why}. There is more than one cause.")
    tried = {at for at, _ in found.asked}
    left = [name for at, name in enumerate(ids) if at not in tried]
    if left:
        lines.append(f"Not tried: {', '.join(left)}.")
    return [fill("", escape.line(line)) for line in lines]
