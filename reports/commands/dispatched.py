"""`crosswarp run --on`: the same run, cut into shards for many machines, gathered and merged here."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from crosswarp.matrix.dispatch import engines, shares
from crosswarp.matrix.dispatch.dispatch import dispatch, folder_of
from crosswarp.matrix.dispatch.part import Task
from crosswarp.matrix.errors import UsageError
from crosswarp.matrix.facts import costs
from crosswarp.matrix.results.store import Store
from crosswarp.matrix.running.plan import Plan
from crosswarp.reports.commands import asked
from crosswarp.reports.commands.options import check_work, for_workers, known_issues, positive
from crosswarp.reports.findings import estimate
from crosswarp.reports.findings.view import view
from crosswarp.reports.text import colour, escape
from crosswarp.reports.text.ending import ending
from crosswarp.reports.text.summary import summary

# The program that a worker's Python runs as crosswarp.
COMMAND: tuple[str, ...] = ("-m", "crosswarp.reports.cli")


def add_engine(parser: argparse.ArgumentParser) -> None:
    # The options that `for_workers` goes through, with those that are added later.
    parser.set_defaults(declared=parser._actions)
    group = parser.add_argument_group("on many machines (docs/scale.md)")
    group.add_argument(
        "--on", metavar="ENGINE",
        help=f"hand it out in shards, gather what they make and merge it: {engines.NAMES}. `ray` is the cluster of "
        "RAY_ADDRESS, or one on this machine. Given again, it goes on with what is missing",
    )  # fmt: skip
    group.add_argument(
        "--shards", type=positive, metavar="N",
        help="shards of each column (default: as the store's times say, five minutes each)",
    )  # fmt: skip
    group.add_argument(
        "--workers", type=positive, metavar="N", help="shards at a time at most (default: all)"
    )
    group.add_argument(
        "--envs", type=Path, metavar="DIR",
        help="where environments are looked for and built, in a folder named for all that it is made of: a place that "
        "all machines share (default: the folder of --work)",
    )  # fmt: skip


def check(options: argparse.Namespace) -> None:
    """Raises UsageError where what was asked for goes together with one machine alone."""
    if not options.on:
        lone = [name for name in ("shards", "workers") if getattr(options, name)]
        if lone:
            raise UsageError(f"--{lone[0]} is of --on: name an engine, or leave it out.")
        if options.envs and options.environments == "remove":
            raise UsageError("What others use as well is not removed. Leave out --environments.")
        return
    wrong = [
        name
        for name, given in (
            ("--here", options.here), ("--shard", options.shard), ("--dry-run", options.dry_run),
            ("--environments remove", options.environments == "remove"),
        )
        if given
    ]  # fmt: skip
    if wrong:
        raise UsageError(f"--on hands a run out in shards by itself. Leave out {', '.join(wrong)}.")


def run(options: argparse.Namespace, plan: Plan, argv: Sequence[str]) -> int:
    """`plan`: of the whole, with as many jobs as a shard has."""
    cut = shares.cut(_costs(options, plan), asked.words(options), options.shards)
    check_work(options.work)
    work = options.work.absolute()
    known = known_issues(options)
    folder = folder_of(work, cut, asked.asked(options).suite, plan.commit)
    words = [*for_workers(options, options.declared), "--work", str(work), "--jobs", str(plan.jobs)]
    if options.envs:
        words += ["--envs", str(options.envs.absolute())]
    done = dispatch(
        cut,
        Task("", tuple(words), os.getcwd(), COMMAND),
        lambda: engines.engine(options.on, folder, options.workers or 0, plan.jobs),
        folder,
        options.store,
        known,
        argv,
        _say,
        fresh=options.fresh,
    )
    with Store(options.store) as store:
        shown = view(store, known, done.merged.run)
        colour.show(summary(shown, True) if options.verbose else ending(shown))
    if done.died or done.merged.missing:
        lost = len(done.died) or len(done.merged.missing)
        print(
            f"\n{len(cut) - lost} of {len(cut)} shards came. The same command runs what is missing."
        )
    return done.merged.exit_code


def _costs(options: argparse.Namespace, plan: Plan) -> dict[str, float | None]:
    """Seconds of one process, by column, as the store says or the records of what a run costs."""
    with ExitStack() as opened:
        store = opened.enter_context(Store(options.store)) if options.store.is_file() else None
        estimated = estimate.estimate(plan, store, costs.load(), {}, 0)
    return {
        column.column: None if column.seconds is None else column.seconds * plan.jobs
        for column in estimated.columns
    }


def _say(text: str) -> None:
    print(escape.terminal(text), file=sys.stderr, flush=True)
