"""`crosswarp inductor`: the kernels that torch.compile writes, generated without a GPU and compiled by any Triton."""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from crosswarp.matrix.environments import here
from crosswarp.matrix.errors import (
    EXIT_ENVIRONMENT,
    EXIT_EXPECTED,
    EXIT_USAGE,
    UsageError,
)
from crosswarp.matrix.facts import columns, selection, targets
from crosswarp.matrix.results.record import MODES, Record
from crosswarp.matrix.results.store import Store
from crosswarp.matrix.running.plan import Plan, Work, check_words, default_jobs
from crosswarp.matrix.running.progress import progress
from crosswarp.matrix.running.run import Prepare, Runner
from crosswarp.matrix.work import brought, inductor
from crosswarp.matrix.work.suite import Suite
from crosswarp.reports.commands import placing
from crosswarp.reports.commands.options import (
    JOBS,
    add_files,
    add_globs,
    add_numbers,
    add_store,
    add_triton,
    add_work,
    check_work,
    known_issues,
    target_table,
)
from crosswarp.reports.findings.view import view
from crosswarp.reports.text import colour, inductor_text
from crosswarp.reports.text.summary import summary

DESCRIPTION = (
    "Have torch.compile write the kernels of a function, or of our own programs, for a GPU that is not there, and "
    "compile them with each Triton asked for: every configuration, without compat and with it, with registers, "
    "spills and shared "
    "memory. The lane emulate executes what they compute together, against torch. Or, with --pair, try each torch with "
    "the Triton beside it: import, generate, compile. Exit status: 0 as expected, 1 something failing unexpectedly, 2 "
    "nothing was written, 3 an environment could not be built."
)
EXAMPLES = (
    "crosswarp inductor my_module.py:step",
    "crosswarp inductor my_module.py:step --torch ../venv/bin/python --triton 3.2.0,newest",
    "crosswarp inductor --programs 'layer_norm,*template' --triton 'triton-*'",
    "crosswarp inductor --pair --triton '3.9.0+torch-2.6.0'",
)
LANES = ("compile", "emulate")
_TARGET = "sm_90"


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "function", nargs="?", metavar="FILE:FUNCTION",
        help="a function or module in a Python file; its inputs are what FUNCTION_inputs() beside it returns "
        "(default: crosswarp's own programs)",
    )  # fmt: skip
    what = parser.add_argument_group("what (globs, comma-separated)")
    add_globs(what, ("programs", "of crosswarp's own (all)"))
    what.add_argument(
        "--dynamic", action="store_true", help="compile FUNCTION for any size of its inputs"
    )
    add_globs(what, ("targets", "sm_90, H100, gfx942, .. (sm_90)"))
    add_globs(what, ("modes", "bare: without compat, shimmed: with compat (both)"), of="MODE")
    add_globs(what, ("lanes", "compile, emulate (both)"), of="LANE")
    what.add_argument(
        "--configurations", type=int, default=2, metavar="N", help="of each kernel; 0: all (2)"
    )
    where = parser.add_argument_group("who")
    where.add_argument(
        "--torch", type=Path, action="append", default=[], metavar="PYTHON",
        help="the interpreter whose torch writes the kernels (repeatable; default: the first that compiles them)",
    )  # fmt: skip
    where.add_argument(
        "--here", type=Path, action="append", default=[], metavar="PYTHON",
        help="an interpreter whose Triton compiles them (repeatable; default: crosswarp's own)",
    )  # fmt: skip
    add_triton(
        where, "build these environments as well, 3 to 5 GB each: newest, all, 3.6.0,3.9.0, ..."
    )
    how = parser.add_argument_group("how")
    how.add_argument(
        "--pair", action="store_true",
        help="try each torch with the Triton beside it, by torch's own way through it, and replay nothing",
    )  # fmt: skip
    how.add_argument(
        "--written", action="store_true", help="write nothing anew: compile what lies in --work"
    )
    how.add_argument("--list", action="store_true", help="name the programs, and do nothing")
    add_numbers(
        how,
        JOBS,
        ("time-limit", 300, "S", "for one program, or one configuration (300)"),
        ("memory-limit", 6000, "MB", "for one compilation (6000)"),
        ("column-limit", 7200, "S", "for one environment (7200)"),
    )
    add_work(parser, "environments, kernels, caches and logs (.crosswarp)")
    add_files(parser, "columns", "targets", "issues")
    add_store(parser)


def run(options: argparse.Namespace, argv: Sequence[str]) -> int:
    globs = selection.split(options.programs) if options.programs else []
    asked = inductor.asked(options.function, globs, options.dynamic)
    names = inductor.check_programs(asked)
    if options.list:
        own = inductor.own_programs()
        colour.show(inductor_text.programs({name: own.get(name, "") for name in names}))
        return EXIT_EXPECTED
    command = _Command(options, argv, asked, _plan(options), *_environments(options))
    check_work(options.work)
    if options.pair:
        return command.pair()
    if not options.written:
        code = command.write()
        if code:
            return code
    return command.replay()


def _plan(options: argparse.Namespace) -> Plan:
    wanted = selection.split(options.targets or [_TARGET])
    return Plan(
        # Each step prints its own progress.
        work=Suite(),
        columns=(),
        targets=targets.choose(target_table(options), wanted),
        lanes=("compile",),
        modes=check_words(selection.split(options.modes or ["*"]), MODES, "mode"),
        jobs=options.jobs or default_jobs(),
        time_limit=options.time_limit,
        memory_limit_mb=options.memory_limit,
        column_limit=options.column_limit,
    )


def _environments(
    options: argparse.Namespace,
) -> tuple[Sequence[here.Here], Sequence[columns.Column]]:
    """Those that are there and those to be built."""
    built = placing.chosen(options)
    pythons = list(options.here)
    if not pythons and not built:
        interpreter = here.python_at_hand(os.environ)
        if interpreter is None:
            raise UsageError(
                "there is no Triton here. Name an interpreter that has torch and Triton (--here PYTHON), or have an "
                f"environment built (--triton {columns.NEWEST}; 3 to 5 GB)."
            )
        pythons = [interpreter]
    return [here.glance(python) for python in pythons], built


@dataclass(frozen=True)
class _Command:
    """The request, and the environments: installed ones and those to be built."""

    options: argparse.Namespace
    argv: Sequence[str]
    asked: inductor.Asked
    plan: Plan
    at_hand: Sequence[here.Here]
    built: Sequence[columns.Column]

    @property
    def root(self) -> Path:
        return (self.options.work / "inductor").absolute()

    def write(self) -> int:
        """Have each torch write the kernels; 0 where there are some."""
        if self.options.torch:
            at_hand: Sequence[here.Here] = [here.glance(path) for path in self.options.torch]
            built: Sequence[columns.Column] = []
        else:
            at_hand, built = self.at_hand[:1], [] if self.at_hand else self.built[:1]
        # One mode: the shims are for the Triton that compiles them, and a torch with its own needs none.
        writer = replace(
            self, plan=replace(self.plan, modes=("bare",)), at_hand=at_hand, built=built
        )
        records: list[Record] = []
        with tempfile.TemporaryDirectory() as scratch, Store(Path(scratch) / "written.db") as store:
            for plan, prepare, key in writer.each():
                code, number = self.run_environment(
                    plan, store, prepare, Path(scratch),
                    partial(inductor.Inductor, self.asked, folder=self.root / key),
                )  # fmt: skip
                if code == EXIT_ENVIRONMENT:
                    return code
                records += store.records(number)
        colour.show(inductor_text.written(records))
        return EXIT_EXPECTED if inductor.written(records) else EXIT_USAGE

    def pair(self) -> int:
        """Try each torch with the Triton beside it."""
        codes, records, versions = [], [], {}
        with tempfile.TemporaryDirectory() as scratch, Store(self.options.store) as store:
            for plan, prepare, _ in self.each():
                code, number = self.run_environment(
                    plan, store, prepare, Path(scratch),
                    partial(inductor.Inductor, self.asked, folder=None),
                )  # fmt: skip
                codes.append(code)
                records += store.records(number)
                versions.update(
                    {
                        environment.column: environment.versions
                        for environment in store.environments(number)
                    }
                )
        colour.show(inductor_text.pairs(records, versions))
        return max(codes, default=EXIT_USAGE)

    def replay(self) -> int:
        """Have each Triton compile what was written, and execute it."""
        suite = inductor.write_suite(self.root, self.options.configurations, self.asked)
        if not any(suite.glob("*.py")):
            raise UsageError(
                f"{self.root} holds no kernels of these programs. Leave out --written, so that they are written first."
            )
        lanes = check_words(selection.split(self.options.lanes or ["*"]), LANES, "lane")
        codes = []
        with tempfile.TemporaryDirectory() as scratch, Store(self.options.store) as store:
            for plan, prepare, _ in self.each():
                code, number = self.run_environment(
                    replace(plan, lanes=lanes), store, prepare, Path(scratch),
                    partial(_replayed, suite),
                )  # fmt: skip
                codes.append(code)
                colour.show(inductor_text.resources(store.records(number)))
                colour.show(summary(view(store, known_issues(self.options), number)))
        return EXIT_ENVIRONMENT if EXIT_ENVIRONMENT in codes else max(codes, default=EXIT_USAGE)

    def each(self) -> Iterator[tuple[Plan, Prepare, str]]:
        """A plan for each environment, what prepares it, and the name of the folder for what it writes."""
        for environment in self.at_hand:
            # It has no lock; the first one on its path may be another build of the same version.
            key = inductor.key(
                str(environment.python), environment.versions, os.environ.get("PYTHONPATH", "")
            )
            yield replace(self.plan, columns=(environment.column,)), environment, key
        for column in self.built:
            builder = placing.builder(self.options)
            pair = {"torch": column.torch or "", "triton": column.triton or ""}
            key = inductor.key(column.id, pair, builder.lock(column))
            yield replace(self.plan, columns=(column,)), builder, key

    def run_environment(
        self, plan: Plan, store: Store, prepare: Prepare, scratch: Path, work: Callable[[Path], Work]
    ) -> tuple[int, int]:  # fmt: skip
        """Run one environment: its exit status and the number of its run. `work` is made of what is brought along."""
        is_here = isinstance(prepare, here.Here)
        missing = prepare.missing if isinstance(prepare, here.Here) else ("packaging",)
        links = scratch / f"path-{len(list(scratch.iterdir()))}"
        planned = replace(plan, work=work(brought.bring_along(links, missing)))
        known = known_issues(self.options)
        with progress() as shown:
            result = Runner(
                planned, store, self.options.work, prepare, shown, known, self.argv, here=is_here
            )()
        return result.exit_code, result.run


def _replayed(suite: Path, links: Path) -> Work:
    return inductor.Replayed(suite, links=links)
