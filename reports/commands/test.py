"""`crosswarp test`: a library's own GPU tests on every column and target, without a GPU."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from crosswarp.matrix.environments.beside import Beside, missing
from crosswarp.matrix.environments.environment import Builder
from crosswarp.matrix.environments.uvtool import Uv
from crosswarp.matrix.facts import costs
from crosswarp.matrix.results.store import Store
from crosswarp.matrix.running import plan
from crosswarp.matrix.running.progress import progress
from crosswarp.matrix.running.revision import revision
from crosswarp.matrix.running.run import Prepare, Runner
from crosswarp.reports.commands import asked, own_tests
from crosswarp.reports.commands.options import (
    add_environments,
    add_expectations,
    add_files,
    add_globs,
    add_here,
    add_limits,
    add_shard,
    add_store,
    add_triton,
    add_verbose,
    add_work,
    check_work,
    column_table,
    known_issues,
    owner,
)
from crosswarp.reports.findings import estimate
from crosswarp.reports.findings.range import measured
from crosswarp.reports.findings.view import view
from crosswarp.reports.text import colour, range_text
from crosswarp.reports.text.layout import plural
from crosswarp.reports.text.summary import summary

DESCRIPTION = (
    "Run a library's own GPU tests, unchanged, on every column and target, without compat and with it, without a "
    "GPU. The "
    "library is installed beside each column from its checkout. What its settings ([tool.crosswarp], crosswarp.toml) "
    "say, an option overrides. Results are cells as those of `crosswarp run`, for every report."
)
EXAMPLES = (
    "crosswarp test",
    "crosswarp test --triton 3.2.0,3.9.0 --targets sm_90 --sample 50",
)


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "path", nargs="?", type=Path, default=Path("."), metavar="PATH", help="the checkout (.)"
    )
    what = parser.add_argument_group("what to run (globs, comma-separated)")
    add_triton(what, "as `run` has them (default: what the library's metadata allows)")
    add_globs(
        what,
        ("targets", "sm_90, gfx*, H100, ... (default: sm_90)"),
        ("lanes", "the way of each launch: compile, emulate, interpret (default: compile)"),
        ("modes", "bare: without compat, shimmed: with compat (default: both)"),
        ("cases", "tests: FILE::FUNCTION, FILE::FUNCTION/PARAMETERS; with ! before: none of these"),
    )
    own_tests.add_sample(what)
    add_shard(what, "tests")
    add_here(
        what,
        "in this interpreter (or the one named), which has the library; nothing is built",
    )
    how = parser.add_argument_group("how")
    how.add_argument("--fresh", action="store_true", help="compile everything again")
    add_limits(how)
    add_expectations(how)
    add_environments(how)
    add_verbose(how, "all details, of fixed known issues too")
    where = parser.add_argument_group("where")
    add_work(where, "environments, caches and logs (.crosswarp)")
    add_files(where, "columns", "targets", "issues")
    add_store(where)
    # The settings have their own.
    parser.set_defaults(time_limit=None)


def _announced(planned: plan.Plan, library: own_tests.Library, options: argparse.Namespace) -> str:
    """The plan, with its disk and time, before any of it runs."""
    each = library.functions
    sample = options.sample or library.settings.sample
    tests = plural(each, "test function") + (
        f", a sample of {plural(sample, 'test')}" if sample else ""
    )
    places = len(planned.targets) * len(planned.lanes) * len(planned.modes)
    seconds = min(each, sample or each) * sum(
        getattr(costs.load().lanes, lane).seconds * len(planned.targets) * len(planned.modes)
        for lane in planned.lanes
    )
    minutes = max(seconds / planned.jobs / 60, 1)
    announcement = (
        f"{library.declared.name}: {tests}, {plural(places, 'time')} (targets, lanes, modes) on "
        f"{plural(len(planned.columns), 'column')}; a column takes about {minutes:.0f} min, or longer: "
        "tests have parameters"
    )
    if options.here:
        return f"{announcement}."
    built = estimate.environments(options.work, planned.columns)
    count = sum(1 for column in planned.columns if not built.get(column.id))
    gigabytes = count * costs.load().environment.megabytes / 1000
    return (
        f"{announcement}. {plural(count, 'environment')} to build, about {gigabytes:.0f} GB."
        if count
        else f"{announcement}."
    )


def run(options: argparse.Namespace, argv: Sequence[str]) -> int:
    wanted = own_tests.asked(options, options.path)
    library = wanted.library
    known = known_issues(options, library.root)
    with progress() as shown:
        prepare: Prepare
        beside: Beside | None = None
        if options.here:
            looked = asked.at_hand(options, tests=True)
            prepare, chosen = looked, [looked.column]
            if lacking := missing(looked.python, [], library.imports, here=True):
                shown.say(f"{looked.column.id}: {lacking}")
        else:
            listed = column_table(options)
            chosen = library.columns(options.columns or [], listed)
            uv = Uv()
            columns = Builder(options.work.absolute() / "envs", listed, uv, say=shown.say)
            prepare = beside = library.beside(columns, options.work, uv, shown.say)
        planned = plan.Plan(
            work=replace(
                library.tests(
                    options.sample or library.settings.sample, beside.folders if beside else {}
                ),
                owner=owner(options, "library", library.root),
            ),
            columns=tuple(chosen),
            targets=wanted.targets,
            lanes=wanted.lanes,
            modes=wanted.modes,
            jobs=options.jobs or plan.default_jobs(),
            time_limit=options.time_limit or library.settings.time_limit,
            memory_limit_mb=options.memory_limit,
            column_limit=options.column_limit,
            fresh=options.fresh,
            shard=plan.check_shard(options.shard),
            commit=revision(library.root),
        )
        check_work(options.work)
        shown.say(_announced(planned, library, options))
        with Store(options.store) as store:
            runner = Runner(
                planned, store, options.work, prepare, shown, known, argv,
                here=bool(options.here),
                remove=options.environments == "remove",
            )  # fmt: skip
            result = runner()
            ended = view(store, known, result.run)
    colour.show(summary(ended, options.verbose))
    if any(record.ran for record in ended.records):
        supported = measured(options.store, result.run, column_table(options), [], [], [])
        print("".join(f"{line}\n" for line in range_text.declared(supported)), end="")
    return result.exit_code
