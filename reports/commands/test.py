"""`crosswarp test`: a library's own GPU tests on every column and target, without a GPU."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path

from crosswarp.matrix.checkout import metadata, settings
from crosswarp.matrix.checkout.metadata import Declared
from crosswarp.matrix.checkout.settings import Settings
from crosswarp.matrix.environments import here
from crosswarp.matrix.environments.beside import Beside
from crosswarp.matrix.environments.environment import Builder
from crosswarp.matrix.environments.uvtool import Uv
from crosswarp.matrix.errors import UsageError
from crosswarp.matrix.facts import columns, selection, targets
from crosswarp.matrix.facts.columns import Column
from crosswarp.matrix.results.record import MODES
from crosswarp.matrix.results.store import Store
from crosswarp.matrix.running import library_tests, plan
from crosswarp.matrix.running.library_tests import LibraryTests
from crosswarp.matrix.running.progress import progress
from crosswarp.matrix.running.revision import revision
from crosswarp.matrix.running.run import Prepare, Runner
from crosswarp.reports.commands.init import checkout
from crosswarp.reports.commands.options import (
    add_files,
    add_here,
    add_limits,
    add_store,
    add_work,
    check_work,
    column_table,
    known_issues,
    positive,
    target_table,
)
from crosswarp.reports.findings.range import measured
from crosswarp.reports.findings.view import view
from crosswarp.reports.text import colour, range_text
from crosswarp.reports.text.summary import summary

HELP = "your library's own GPU tests on every Triton"
DESCRIPTION = (
    "Run a library's own GPU tests, unchanged, on every column and target, bare and with the shims, without a GPU. The "
    "library is installed beside each column from its checkout. What its settings ([tool.crosswarp], crosswarp.toml) "
    "say, an option overrides. Results are cells as those of `crosswarp run`, for every report."
)
EXAMPLES = (
    "crosswarp test",
    "crosswarp test --columns 3.2.0,3.9.0 --targets sm_90 --sample 50",
)


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "path", nargs="?", type=Path, default=Path("."), metavar="PATH", help="the checkout (.)"
    )
    what = parser.add_argument_group("what to run (globs, comma-separated)")
    for name, meaning in (
        ("columns", "as `run` has them (default: what the library's metadata allows)"),
        ("targets", "sm_90, gfx*, H100, ... (default: sm_90)"),
        ("lanes", "the way of each launch: compile, emulate, interpret (default: compile)"),
        ("modes", "bare, shimmed (default: both)"),
        ("cases", "tests: FILE::FUNCTION, FILE::FUNCTION/PARAMETERS; with ! before: none of these"),
    ):
        what.add_argument(f"--{name}", action="append", metavar="GLOB,..", help=meaning)
    what.add_argument(
        "--sample", type=positive, metavar="N",
        help="so many tests, spread over the functions, the same ones each time",
    )  # fmt: skip
    add_here(
        what,
        "in the interpreter at hand (or the one named), which has the library; nothing is built",
    )
    how = parser.add_argument_group("how")
    how.add_argument("--fresh", action="store_true", help="compile everything again")
    add_limits(how)
    where = parser.add_argument_group("where")
    add_work(where, "environments, caches and logs (.crosswarp)")
    add_files(where, "columns", "targets", "issues")
    add_store(where)
    # The settings have their own.
    parser.set_defaults(time_limit=None)


def run(options: argparse.Namespace, argv: Sequence[str]) -> int:
    root = checkout(options.path).resolve()
    said = settings.load(root).settings
    if options.cases:
        said = said.model_copy(update={"cases": tuple(selection.split(options.cases))})
    known = known_issues(options, root)
    declared = metadata.declared(root)
    table = target_table(options)
    on = targets.choose(table, selection.split(options.targets or list(said.targets)))
    lanes = plan.check_words(
        selection.split(options.lanes or list(library_tests.DEFAULT_LANES)), library_tests.LANES, "lane"
    )  # fmt: skip
    with progress() as shown:
        prepare: Prepare
        beside: Beside | None = None
        if options.here:
            if options.columns:
                raise UsageError(
                    "--here runs one column, the interpreter at hand. Leave out --columns."
                )
            prepare = here.look(Path(os.path.abspath(options.here)))
            chosen = [prepare.column]
        else:
            listed = column_table(options)
            chosen = _columns(options, said, declared, listed)
            uv = Uv()
            work = options.work.absolute()
            prepare = beside = Beside(
                Builder(work / "envs", listed, uv, say=shown.say), root, said.requires, said.env,
                work / "libraries-beside", uv, shown.say,
            )  # fmt: skip
        tests = LibraryTests(
            root,
            declared,
            library_tests.paths_of(root, said),
            said,
            options.sample or said.sample,
            beside.folders if beside else {},
        )
        planned = plan.Plan(
            columns=tuple(chosen),
            targets=on,
            lanes=lanes,
            modes=plan.check_words(selection.split(options.modes or ["*"]), MODES, "mode"),
            jobs=options.jobs or plan.default_jobs(),
            time_limit=options.time_limit or said.time_limit,
            memory_limit_mb=options.memory_limit,
            column_limit=options.column_limit,
            fresh=options.fresh,
            commit=revision(root),
            tests=tests,
        )
        check_work(options.work)
        with Store(options.store) as store:
            runner = Runner(
                planned, store, options.work, prepare, shown, known, argv,
                suite=library_tests.argv, here=bool(options.here),
            )  # fmt: skip
            result = runner()
            ended = view(store, known, result.run)
    colour.show(summary(ended))
    if any(record.ran for record in ended.records):
        found = measured(options.store, result.run, column_table(options), [], [], [])
        print("".join(f"{line}\n" for line in range_text.declared(found)), end="")
    return result.exit_code


def _columns(
    options: argparse.Namespace, said: Settings, declared: Declared, table: Sequence[Column]
) -> list[Column]:
    wanted = options.columns or list(said.columns)
    if wanted:
        return columns.choose(table, selection.split(wanted))
    allowed = declared.columns(table)
    if not allowed:
        ranges = "; ".join(filter(None, (declared.range_of(name) for name in ("triton", "torch"))))
        raise UsageError(
            f"{declared.name}: its metadata allows none of the columns ({ranges}). Name some with `columns` in its "
            "settings or with --columns."
        )
    return allowed
