"""`crosswarp fuzz`: generated programs on every Triton, and what one of them does otherwise than the others."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack, closing
from pathlib import Path

from crosswarp.laboratory.commands import edited
from crosswarp.laboratory.fuzzing import places
from crosswarp.laboratory.fuzzing.corpus import Corpus, Settings
from crosswarp.laboratory.fuzzing.exploring import Exploration, Programs, Progress
from crosswarp.laboratory.fuzzing.places import Place, Workers
from crosswarp.laboratory.fuzzing.triage import Finding, Triage
from crosswarp.laboratory.reproducing import fuzzed
from crosswarp.matrix.environments import here
from crosswarp.matrix.errors import EXIT_EXPECTED, EXIT_UNEXPECTED, Cancelled, UsageError
from crosswarp.matrix.facts import language_table, selection, targets
from crosswarp.matrix.running.plan import default_jobs
from crosswarp.reports.commands import placing
from crosswarp.reports.commands.options import (
    add_files,
    add_numbers,
    add_triton,
    add_work,
    at_hand,
    check_work,
    known_issues,
    positive,
    target_table,
)
from crosswarp.reports.text import escape

DESCRIPTION = (
    "Generate well-defined kernels together with what they mean, compile each in every column, execute it without a "
    "GPU, and say what one Triton does otherwise than the others. What is found is made small, looked for among the "
    "known issues, and written as a kernel module, a draft of its record and a script. The same seed makes the same "
    "programs; a run that was ended goes on where it was. Exit status: 0 nothing new, 1 a new root cause, 2 usage, "
    "3 an environment could not be built."
)
EXAMPLES = (
    "crosswarp fuzz --triton all --minutes 30 --seed 7",
    "crosswarp fuzz --here ../old/bin/python ../new/bin/python --minutes 10",
    "crosswarp fuzz --triton all --spread --minutes 480 --seed 7",
    "crosswarp fuzz --triton 3.2.0,3.6.0 --seed 7 --replay 123",
    "crosswarp fuzz --triton all --suite my_kernels",
)
_TARGETS = "sm_80,sm_90"


def add(parser: argparse.ArgumentParser) -> None:
    where = parser.add_argument_group("where (globs, comma-separated)")
    add_triton(
        where,
        "releases such as 3.6.0,3.9.0, globs, all or a profile; their environments are built, 3 to 5 GB each "
        "(default: founding)",
    )
    where.add_argument(
        "--here", nargs="+", type=Path, default=[], metavar="PYTHON",
        help="interpreters instead, each with a Triton and crosswarp; two at least, or nothing is compared",
    )  # fmt: skip
    where.add_argument(
        "--targets", action="append", metavar="GLOB,..",
        help=f"for which each program is compiled and executed, AMD's among them ({_TARGETS})",
    )  # fmt: skip
    what = parser.add_argument_group("what")
    what.add_argument("--seed", type=int, default=1, metavar="N", help="which programs (1)")
    what.add_argument("--minutes", type=float, default=10.0, metavar="M", help="how long (10)")
    what.add_argument("--programs", type=positive, metavar="N", help="the first N, and no more")
    what.add_argument(
        "--replay", type=int, metavar="NUMBER",
        help="this program of the seed alone: its kernel, its meaning, and what each column says",
    )  # fmt: skip
    what.add_argument(
        "--everything", action="store_true",
        help="leave out nothing that is known, and tell of it as if it were new",
    )  # fmt: skip
    what.add_argument(
        "--spread", action="store_true",
        help="run each program in one column on one target, and in the others only if it shows something new there: "
        "many times the programs, of which none is compared in what it costs",
    )  # fmt: skip
    edited.add_edited(parser.add_argument_group("a suite's own kernels"))
    limits = parser.add_argument_group("limits")
    add_numbers(
        limits,
        ("jobs", None, "N", "programs at a time (default: the CPUs of this machine)"),
        ("time-limit", 60, "S", "for one program (60)"),
        ("memory-limit", 6000, "MB", "for one program (6000)"),
        ("shrink-seconds", 120, "S", "to make one finding smaller (120)"),
    )
    add_work(parser, "environments, programs and findings (.crosswarp)")
    add_files(parser, "columns", "targets", "issues")


def run(options: argparse.Namespace, argv: Sequence[str]) -> int:
    if options.minutes <= 0:
        raise UsageError("--minutes must be more than nothing")
    if edited.asked(options):
        check_work(options.work)
        return edited.run(options, argv, _TARGETS)
    wanted = selection.split(options.targets or [_TARGETS])
    on = targets.choose(target_table(options), wanted)
    check_work(options.work)
    # Built and queried before the clock starts, so that the columns are known then.
    found = places.in_order(_at_hand(options) if options.here else _built(options))
    if len(found) < 2 and options.replay is None:
        raise UsageError(
            f"{found[0].column} alone has no other to be compared with. Name a second with --triton or --here."
        )
    issues = known_issues(options)
    programs = Programs(
        options.seed, found, language_table.load(), issues, options.everything, options.spread
    )
    with ExitStack() as stack:

        def lane(most: int) -> Workers:
            limits = options.time_limit, options.memory_limit
            return stack.enter_context(Workers(on, *limits, max(2, most)))

        if options.replay is not None:
            return _replay(programs, options.replay, lane(2), list(on))
        # A worker takes four seconds of CPU time to start, as long as twenty cells, so workers stay alive. Those that
        # investigate a finding may use a quarter of memory, those that search for one half.
        workers = _memory_mb() // places.WORKER_MB
        triage = Triage(
            programs, lane(workers // 4), sorted(on), issues, _say, options.shrink_seconds
        )
        jobs = options.jobs or default_jobs()
        return _explore(
            options, programs, [lane(workers // 2 // jobs) for _ in range(jobs)], triage
        )


def _explore(
    options: argparse.Namespace, programs: Programs, lanes: Sequence[Workers], triage: Triage
) -> int:
    name = f"seed-{options.seed}{'-everything' * options.everything}{'-spread' * options.spread}"
    folder = options.work / "fuzz" / name
    settings = Settings(
        options.seed, tuple(place.column for place in programs.places), tuple(triage.targets),
        everything=options.everything, spread=options.spread,
    )  # fmt: skip
    corpus, began = Corpus(folder, settings), time.monotonic()
    exploration = Exploration(programs, corpus, lanes, triage.targets, _say, triage.explained)
    before = corpus.count
    triage.keys.update(corpus.causes())
    if before:
        _say(f"{folder} holds {before} cells of an earlier run: it goes on there")
    new: list[Finding] = []
    ends = began + 60 * options.minutes
    try:
        with closing(exploration.until(ends, options.programs)) as shown:
            for program, number, suspects in shown:
                of_program = triage(number, program, suspects)
                corpus.keep_causes(triage.keys)
                for finding in of_program:
                    where = fuzzed.write(finding, target_table(options), folder / "findings")
                    known = f"known: {finding.issue}" if finding.issue else "new"
                    print(
                        f"{finding.name}: {fuzzed.sentence(finding)}; {known}; {where}", flush=True
                    )
                    if not finding.issue:
                        new.append(finding)
    except KeyboardInterrupt:
        _ended(exploration.progress, triage, corpus.count - before, time.monotonic() - began)
        raise Cancelled(
            f"Cancelled. What had finished is in {folder}; the same command goes on there."
        ) from None
    _ended(exploration.progress, triage, corpus.count - before, time.monotonic() - began)
    if new:
        print(f"{len(new)} new: {', '.join(one.name for one in new)}")
    return EXIT_UNEXPECTED if new else EXIT_EXPECTED


def _ended(counts: Progress, triage: Triage, fresh: int, seconds: float) -> None:
    rate = f"{fresh} cells in {seconds / 60:.1f} min, {fresh / max(seconds, 1e-9):.2f} a second"
    print(f"{counts.programs} programs, {counts.cells} cells; {rate}")
    print(
        f"not counted against any Triton: {counts.unsupported} cells of PTX that cannot be executed here, "
        f"{counts.refused} programs that no column compiles, {counts.ill_defined} that were not well defined"
    )
    for why, count in sorted(triage.doubted.items()):
        print(f"not believed, {escape.terminal(why)}: {count}")
    for name, count in sorted((triage.seen + counts.explained).items()):
        print(f"{name}: {count} programs")
    sys.stdout.flush()


def _memory_mb() -> int:
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") >> 20


def _replay(programs: Programs, number: int, workers: Workers, on: Sequence[str]) -> int:
    program = programs(number)
    print(program.kernel)
    print(program.meaning)
    print(f"options {dict(program.options)}, {dict(program.numbers)}")
    red = False
    for place in programs.where(program):
        for target in sorted(on):
            if not workers.compiles(place, target, program):
                continue
            cell = workers.run(place, program, target)
            red = red or cell.outcome not in ("pass", "unsupported")
            seconds = "" if cell.compile_seconds is None else f", {cell.compile_seconds:.1f} s"
            outcome = f"{cell.outcome}{seconds} {cell.fingerprint or cell.reason}"
            print(f"{place.column} {target}: {escape.terminal(outcome)}", flush=True)
    return EXIT_UNEXPECTED if red else EXIT_EXPECTED


def _say(text: str) -> None:
    print(escape.terminal(text), file=sys.stderr, flush=True)


def _at_hand(options: argparse.Namespace) -> list[Place]:
    return [
        Place(name, one.versions["triton"], one.python)
        for name, one in at_hand(options, here.glance)
    ]


def _built(options: argparse.Namespace) -> list[Place]:
    builder = placing.builder(options, _say)
    found = []
    for column in placing.chosen(options, "founding"):
        made = builder(column)
        release = column.triton or made.versions.get("triton", "")
        found.append(Place(column.id, release, made.python, made.expect, here=False))
    return found
