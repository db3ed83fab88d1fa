"""`crosswarp libraries`: run the ops of published libraries, judge what the store holds of them, write the page."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from crosswarp.laboratory.pages.libraries_page import Facts, page
from crosswarp.matrix.environments.environment import python_for
from crosswarp.matrix.environments.uvtool import Uv
from crosswarp.matrix.errors import EXIT_ENVIRONMENT, EXIT_UNEXPECTED, UsageError
from crosswarp.matrix.facts import columns, selection, targets
from crosswarp.matrix.facts.columns import Column
from crosswarp.matrix.results.record import MODES, Record
from crosswarp.matrix.results.store import Store
from crosswarp.matrix.running import plan
from crosswarp.matrix.running.progress import progress
from crosswarp.matrix.running.run import Runner
from crosswarp.matrix.work import library_ops
from crosswarp.matrix.work.library_ops import Cell, LibraryFile, Verdict
from crosswarp.reports.commands import placing
from crosswarp.reports.commands.options import (
    add_files,
    add_globs,
    add_numbers,
    add_triton,
    add_work,
    check_work,
    column_table,
    positive,
)
from crosswarp.reports.findings.view import day
from crosswarp.reports.text import escape

DESCRIPTION = (
    "Import and launch, forward and backward, the main ops of published libraries on every column, and "
    "write libraries.md from all that was stored. Exit status: 1 when an op passes without compat and fails with it, "
    "or fails "
    "with compat without a cause in libraries.toml, or a cause there explains nothing any more."
)
EXAMPLES = ("crosswarp libraries --libraries 'liger*' --triton 3.9.0",)
PAGE = "libraries.md"
TARGETS = ("sm_90", "gfx942")


def add(parser: argparse.ArgumentParser) -> None:
    add_triton(parser, "ids or globs (default: every published pair)")
    add_globs(
        parser,
        ("libraries", "releases, such as liger-kernel-0.5.10 (default: all)"),
        ("targets", "(default: sm_90,gfx942)"),
        ("modes", "bare: without compat, shimmed: with compat (default: both)"),
        ("ops", "names of ops (default: all)"),
    )
    parser.add_argument(
        "--configurations", type=int, default=2, metavar="N",
        help="to which an autotuned kernel is limited; 0 for all (2)",
    )  # fmt: skip
    add_numbers(
        parser,
        ("time-limit", 300, "S", "for one op (300)"),
        ("memory-limit", 6000, "MB", "for one compilation (6000)"),
        ("column-limit", 7200, "S", "for one column (7200)"),
    )
    parser.add_argument("--jobs", type=positive, metavar="N", help="ops at a time")
    parser.add_argument(
        "--no-run", action="store_true", help="run nothing: judge and write what is stored"
    )
    parser.add_argument(
        "--out", type=Path, default=Path("docs/evidence"), metavar="DIR",
        help="the folder of libraries.md (docs/evidence)",
    )  # fmt: skip
    add_work(parser)
    add_files(parser, "columns", "libraries")
    parser.add_argument(
        "--store", type=Path, default=Path(".crosswarp/libraries.db"), metavar="PATH",
        help="its own SQLite file (.crosswarp/libraries.db)",
    )  # fmt: skip


def run(options: argparse.Namespace, argv: Sequence[str]) -> int:
    check_work(options.work)
    file = library_ops.load(options.libraries_file or library_ops.DEFAULT_FILE)
    ended = 0
    if not options.no_run:
        ended = _run(options, argv, file)
    with Store(options.store, read_only=True) as store:
        records, facts = newest(store, library_ops.identity())
    cells = library_ops.cells(records, file.library)
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        (options.out / PAGE).write_text(page(cells, file, facts), encoding="utf-8")
        print(options.out / PAGE)
    verdict = library_ops.judge(cells, file.cause)
    print(summary(cells, verdict, facts), end="")
    return exit_code(ended, verdict)


def exit_code(ended: int, verdict: Verdict) -> int:
    """3 when an environment failed, whatever else; 1 when the table is not as it must be or the run was cut short."""
    if ended == EXIT_ENVIRONMENT:
        return ended
    return ended or (0 if verdict.as_expected else EXIT_UNEXPECTED)


def _run(options: argparse.Namespace, argv: Sequence[str], file: LibraryFile) -> int:
    table = column_table(options)
    chosen = library_ops.choose(file, selection.split(options.libraries or ["*"]))
    modes = plan.check_words(selection.split(options.modes or ["*"]), MODES, "mode")
    on = targets.choose(targets.load(), selection.split(options.targets or TARGETS))
    listed = _columns(options, table)
    with Store(options.store) as store, progress() as shown:
        uv = Uv()
        install = library_ops.Installer((options.work / "libraries").absolute(), uv, shown.say)
        folders = {library: install(library) for library in chosen}
        families = {library.family for library in chosen}
        planned = plan.Plan(
            work=library_ops.LibraryOps(
                folders=folders,
                ops=selection.split(options.ops or ["*"]),
                configurations=options.configurations,
                mark=library_ops.identity(),
            ),
            columns=tuple(listed),
            targets=on,
            lanes=("compile",),
            modes=modes,
            kernels=tuple(f"{family}_*" for family in sorted(families)),
            jobs=options.jobs or plan.default_jobs(),
            time_limit=options.time_limit,
            memory_limit_mb=options.memory_limit,
            column_limit=options.column_limit,
        )
        runner = Runner(
            planned,
            store,
            options.work,
            placing.builder(options, shown.say, uv),
            shown,
            argv=argv,
        )
        return runner().exit_code


def _columns(options: argparse.Namespace, table: Sequence[Column]) -> list[Column]:
    wanted = options.columns or [",".join(c.id for c in table if c.triton and c.official)]
    chosen = columns.choose(table, selection.split(wanted))
    for column in chosen:
        if python_for(column) != library_ops.python():
            raise UsageError(
                f"{column.id} needs Python {column.python}, and the libraries are installed for "
                f"{library_ops.python()}. Run crosswarp with a Python that all columns have, such as 3.11."
            )
    return chosen


def newest(store: Store, identity: str) -> tuple[list[Record], Facts]:
    """The newest record of every cell over all runs, and when and with what they were made."""
    seen: set[str] = set()
    records: list[Record] = []
    dates: list[str] = []
    configurations = library_ops.CONFIGURATIONS
    outdated: set[str] = set()
    waiting: dict[str, Record] = {}
    for stored in store.runs():
        fresh = []
        for record in store.records(stored.id):
            if record.outcome == "not-run":
                waiting.setdefault(record.id, record)
            elif record.id not in seen:
                fresh.append(record)
        if not fresh:
            continue
        if not dates:
            configurations = stored.plan.get("configurations", configurations)
        dates.append(str(day(stored.started) or "on an unknown day"))
        records += fresh
        seen.update(record.id for record in fresh)
        if stored.plan.get("identity") != identity:
            outdated.update(r.column for r in fresh if r.mode == "shimmed" and not r.config)
    # A test that did not run hides no measurement; a whole column without one has a `*`.
    done = {record.column for record in records}
    records += [
        record
        for record in waiting.values()
        if record.id not in seen and (record.case != "*" or record.column not in done)
    ]
    facts = Facts(
        min(dates, default=""), max(dates, default=""), configurations, tuple(sorted(outdated))
    )
    return records, facts


def summary(known: Sequence[Cell], verdict: Verdict, facts: Facts) -> str:
    lines = []
    for title, cells in (
        ("Passes without compat and fails with it", verdict.broken),
        ("Fails with compat without a cause in libraries.toml", verdict.unexplained),
        ("Not run", verdict.not_run),
    ):
        if cells:
            lines.append(f"{title}:")
            lines += [f"  {_line(cell)}" for cell in cells]
    for cause in verdict.idle:
        lines.append(
            f'Good news: "{cause.id}" explains nothing any more. Delete it from libraries.toml.'
        )
    if facts.outdated:
        again = ",".join(facts.outdated)
        lines.append(f"Run before the last change here: crosswarp libraries --triton {again}")
    red = [cell for cell in known if cell.bare and cell.bare.red]
    fixed = [cell for cell in red if cell.shimmed and cell.shimmed.outcome == "pass"]
    lines.append(
        f"{len(known)} cells: {len(red)} fail without compat, {len(fixed)} of them pass with it, "
        f"{len(verdict.explained)} fail for a known cause. "
        + ("As expected." if verdict.as_expected else "NOT as expected.")
    )
    return "\n".join(lines) + "\n"


def _line(cell: Cell) -> str:
    record = cell.shimmed or cell.bare
    assert record is not None
    where = f"{cell.column}/{cell.target}/{cell.library.id}/{cell.op}"
    why = record.fingerprint or record.message
    return f"{escape.line(where)}: {record.outcome}: {escape.line(why, 160)}"
