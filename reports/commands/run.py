"""`crosswarp run`: the matrix. Build what is missing, run, record, sum up."""

from __future__ import annotations

import argparse
import os
import shutil
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from crosswarp import kernels
from crosswarp.matrix.environments import resolver
from crosswarp.matrix.environments.beside import Beside
from crosswarp.matrix.environments.environment import Builder
from crosswarp.matrix.environments.uvtool import Uv
from crosswarp.matrix.errors import UsageError
from crosswarp.matrix.facts import costs, validators
from crosswarp.matrix.results.store import Store
from crosswarp.matrix.running.plan import Plan, check_shard, default_jobs
from crosswarp.matrix.running.progress import Expectations, progress
from crosswarp.matrix.running.revision import revision
from crosswarp.matrix.running.run import Prepare, Runner
from crosswarp.matrix.work.suite import Suite
from crosswarp.matrix.work.suite_modules import left_out
from crosswarp.reports.commands import asked, dispatched, watching
from crosswarp.reports.commands.options import (
    add_environments,
    add_expectations,
    add_here,
    add_limits,
    add_selection,
    add_shard,
    add_store,
    add_verbose,
    add_work,
    alone,
    check_work,
    known_issues,
    owner,
    to_workers,
)
from crosswarp.reports.findings import estimate
from crosswarp.reports.findings.view import view
from crosswarp.reports.text import colour
from crosswarp.reports.text.dry_run import dry_run
from crosswarp.reports.text.ending import ending
from crosswarp.reports.text.summary import summary

DESCRIPTION = "Run the matrix."
EXAMPLES = (
    "crosswarp run",
    "crosswarp run --quick",
    "crosswarp run --triton 3.8.0,3.9.0 --targets H100 --kernels 'softmax*'",
    "crosswarp run --here --lanes compile,device",
    "crosswarp run --suite my_kernels --triton all",
)


def add(parser: argparse.ArgumentParser) -> None:
    what = add_selection(parser)
    add_shard(what, "cases")
    to_workers(what)(
        "--requires", action="append", default=[], type=_requirement, metavar="REQUIREMENT",
        help="what the suite's modules import besides Triton and torch, installed beside each column (repeatable)",
    )  # fmt: skip
    add_here(
        what,
        "run in this interpreter (or the one named) with whatever Triton it imports; nothing is built",
    )
    how = parser.add_argument_group("how")
    to_workers(how)(
        "--fresh",
        action="store_true",
        help="compile and run everything again, rather than take from Triton's cache what an earlier run compiled, and "
        "from the store the verdicts on what has not changed since",
    )
    to_workers(how)(
        "--take-all",
        action="store_true",
        help="of what has not changed take crashes and timeouts from the store as well, which otherwise run again",
    )
    how.add_argument(
        "--dry-run",
        action="store_true",
        help="run nothing: say which columns, how many cells, how much disk and time it would be",
    )
    watching.add_watch(how)
    add_expectations(how)
    add_environments(how)
    dispatched.add_engine(parser)
    add_limits(how)
    add_verbose(how, "all details, of fixed known issues too")
    where = parser.add_argument_group("where")
    add_work(where, "environments, caches and logs (.crosswarp)")
    for name in ("columns", "targets", "issues"):
        where.add_argument(
            f"--{name}-file", type=Path, metavar="TOML", help=f"instead of crosswarp's {name}.toml"
        )
    add_store(where)


def _requirement(text: str) -> str:
    try:
        return validators.requirement(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def run(options: argparse.Namespace, argv: Sequence[str]) -> int:
    dispatched.check(options)
    watching.check(options)
    known = known_issues(options)
    wanted = asked.asked(options)
    if options.watch:
        return watching.run(wanted.suite, argv)
    lanes = wanted.lanes
    with progress() as shown:
        prepare: Prepare
        beside: Beside | None = None
        if options.here:
            if options.environments == "remove":
                raise UsageError(
                    "--here builds no environment, and removes none. Leave out --environments."
                )
            if options.requires:
                raise UsageError(
                    "--here runs this interpreter as it is. Leave out --requires, and install there what it "
                    "names."
                )
            prepare = looked = asked.at_hand(options)
            chosen = [looked.column]
            if looked.gpu and not options.lanes:
                lanes = (*lanes, "device")
                shown.say(f"a GPU is here ({looked.gpu}): the device lane runs too")
        else:
            listed, chosen = asked.chosen_columns(options)
            if options.main:
                resolver.check_reference(options.main)
            prepare = Builder(
                (options.envs or options.work / "envs").absolute(), listed, Uv(), options.main, options.nightly_index,
                shown.say, by_lock=bool(options.envs),
            )  # fmt: skip
            if options.requires:
                folder = (options.work / "libraries-beside").absolute()
                prepare = beside = Beside(
                    prepare, None, options.requires, {}, folder, Uv(), shown.say
                )
        if options.main and not any(column.resolver for column in chosen):
            raise UsageError(
                f"--main names a build for the column main, and what runs is {', '.join(c.id for c in chosen)}. "
                "Leave it out, or add the column: --triton main."
            )
        planned = Plan(
            work=Suite(
                wanted.suite,
                options.requires,
                beside.folders if beside else {},
                owner(options, "suite", wanted.suite or Path()),
                wanted.left_out,
            ),
            columns=tuple(chosen),
            targets=wanted.targets,
            lanes=lanes,
            emulated=wanted.emulated,
            sanitize=wanted.sanitize,
            sample=wanted.sample,
            estimate=wanted.estimate,
            batch=wanted.batch,
            warps=wanted.warps,
            modes=wanted.modes,
            kernels=wanted.kernels,
            cases=wanted.cases,
            # With several machines, each uses one CPU for a shard by default.
            jobs=options.jobs or (1 if options.on else default_jobs()),
            time_limit=options.time_limit,
            time_limit_alone=alone(options),
            memory_limit_mb=options.memory_limit,
            column_limit=options.column_limit,
            fresh=options.fresh,
            take="everything" if options.take_all else "verdicts",
            shard=check_shard(options.shard),
            commit=revision(wanted.suite or Path(kernels.__file__).parent),
        )
        if options.on:
            return dispatched.run(options, planned, argv)
        if options.dry_run:
            return _dry_run(options, planned)
        if options.here:
            prepare = looked.identified(wanted.suite, Path.cwd(), os.environ)
            if not prepare.identity:
                shown.say(
                    "the installed packages cannot be identified by their files: nothing is taken from an earlier run"
                )
        check_work(options.work)
        if skipped := left_out(wanted.suite):
            shown.say(skipped)
        if wanted.left_out:
            shown.say(
                "cases that only repeat a cheaper one are left out: --all-cases runs them too"
            )
        with Store(options.store) as store:
            runner = Runner(
                planned,
                store,
                options.work,
                prepare,
                shown,
                known,
                argv,
                here=bool(options.here),
                remove=options.environments == "remove",
            )
            shown.expects(_expected(planned, store))
            result = runner()
            ended = view(store, known, result.run)
    colour.show(summary(ended, True) if options.verbose else ending(ended))
    return result.exit_code


def _expected(planned: Plan, store: Store) -> Expectations:
    """The cases of each column by lane; none where a column's are not known, or some may not have to run again."""
    if store.runs() and not planned.fresh:
        return {}
    columns = estimate.estimate(planned, store, costs.load(), {}, 0).columns
    if any(column.cells is None for column in columns):
        return {}
    return {column.column: column.lanes for column in columns}


def _dry_run(options: argparse.Namespace, planned: Plan) -> int:
    work = options.work.absolute()
    built = estimate.environments(work, planned.columns)
    if options.here:
        built = dict.fromkeys((column.id for column in planned.columns), True)
    there = next(folder for folder in (work, *work.parents) if folder.is_dir())
    free = shutil.disk_usage(there).free // 1_000_000
    known = costs.load()
    with ExitStack() as opened:
        store = opened.enter_context(Store(options.store)) if options.store.is_file() else None
        estimated = estimate.estimate(
            planned, store, known, built, free, options.environments == "remove"
        )
    colour.show(dry_run(estimated, known))
    return 0
