"""What each command does. The parser is in cli.py, which loads this once the libraries are known to be here."""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tabulate import tabulate

from crosswarp.compat import doctor as compat_doctor
from crosswarp.compat import doctor_text
from crosswarp.matrix import baseline as baseline_module
from crosswarp.matrix import columns as columns_module
from crosswarp.matrix import here, issues, plan, releases, resolver, selection
from crosswarp.matrix import targets as targets_module
from crosswarp.matrix.columns import Column
from crosswarp.matrix.environment import Builder
from crosswarp.matrix.errors import UsageError
from crosswarp.matrix.progress import progress
from crosswarp.matrix.record import MODES
from crosswarp.matrix.run import Prepare, Runner
from crosswarp.matrix.store import Store
from crosswarp.matrix.uvtool import Uv
from crosswarp.reports import bisect as bisect_module
from crosswarp.reports import blame as blame_module
from crosswarp.reports import diff as diff_module
from crosswarp.reports import diff_text, escape, range_text
from crosswarp.reports import docs as docs_module
from crosswarp.reports import doctor as doctor_module
from crosswarp.reports import libraries as libraries_module
from crosswarp.reports import range as range_module
from crosswarp.reports import update as update_module
from crosswarp.reports.export import export
from crosswarp.reports.markdown import markdown
from crosswarp.reports.summary import summary
from crosswarp.reports.table import table
from crosswarp.reports.view import view

printable = escape.terminal


def run(options: argparse.Namespace, argv: Sequence[str]) -> int:
    table_of_columns = columns_module.load(options.columns_file or columns_module.DEFAULT_FILE)
    all_targets = targets_module.load(options.targets_file or targets_module.DEFAULT_FILE)
    known = issues.load(options.issues_file or issues.DEFAULT_FILE)
    targets = targets_module.choose(
        all_targets, selection.split(options.targets or [targets_module.DEFAULT_PROFILE])
    )
    suite = options.suite.resolve() if options.suite else None
    kernels = plan.check_kernels(selection.split(options.kernels or ["*"]), suite)
    modes = plan.check_words(selection.split(options.modes or ["*"]), MODES, "mode")
    lanes = plan.check_lanes(selection.split(options.lanes or plan.DEFAULT_LANES))
    with progress() as shown:
        prepare: Prepare
        chosen: list[Column]
        if options.here:
            if options.columns:
                raise UsageError(
                    "--here runs one column, the interpreter at hand. Leave out --columns."
                )
            prepare = here.look(Path(os.path.abspath(options.here)))
            chosen = [prepare.column]
            if prepare.gpu and not options.lanes:
                lanes = (*lanes, "device")
                shown.say(f"a GPU is here ({prepare.gpu}): the device lane runs too")
        else:
            wanted = selection.split(options.columns or [columns_module.DEFAULT_PROFILE])
            chosen = columns_module.choose(table_of_columns, wanted)
            if options.main and any(column.resolver for column in chosen):
                resolver.check_reference(options.main)
            prepare = Builder(
                (options.work / "envs").absolute(), table_of_columns, Uv(), options.main, options.nightly_index,
                shown.say,
            )  # fmt: skip
        planned = plan.Plan(
            columns=tuple(chosen),
            targets=targets,
            lanes=lanes,
            modes=modes,
            kernels=kernels,
            jobs=options.jobs or plan.default_jobs(),
            time_limit=options.time_limit,
            memory_limit_mb=options.memory_limit,
            column_limit=options.column_limit,
            suite=suite,
            fresh=options.fresh,
        )
        _check_work(options.work)
        with Store(options.store) as store:
            runner = Runner(
                planned, store, options.work, prepare, shown, known, argv, here=bool(options.here)
            )
            result = runner()
            ended = view(store, known, result.run)
    print(summary(ended), end="")
    return result.exit_code


def _check_work(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise UsageError(
            f"--work {folder}: {error.strerror or error}. Name a folder that can be written."
        ) from None


def report(options: argparse.Namespace, argv: Sequence[str]) -> int:
    known = issues.load(options.issues_file or issues.DEFAULT_FILE)
    with Store(options.store, must_exist=True) as store:
        shown = view(store, known, options.run)
    if options.format == "json":
        text = export(shown)
    elif options.format == "markdown":
        text = markdown(shown)
    else:
        text = f"{summary(shown)}\n{table(shown)}\n"
    print(text, end="")
    return 0


def diff(options: argparse.Namespace, argv: Sequence[str]) -> int:
    known = issues.load(options.issues_file or issues.DEFAULT_FILE)
    before, after = (diff_module.side(text, options.store) for text in (options.a, options.b))
    found = diff_module.diff(before, after, known)
    formats = {
        "table": diff_text.terminal, "markdown": diff_text.markdown, "json": diff_text.export,
    }  # fmt: skip
    print(formats[options.format](found), end="")
    return 1 if found.worse else 0


def baseline(options: argparse.Namespace, argv: Sequence[str]) -> int:
    with Store(options.store, must_exist=True) as store:
        one = store.run(options.run)
        records = store.records(one.id)
    if not records:
        raise UsageError(f"run {one.id} holds no cell. `crosswarp runs` lists others: --run ID.")
    baseline_module.write(options.file, records)
    columns = len({record.column for record in records})
    name = printable(str(options.file))
    print(f"{name}: {len(records)} cells of {columns} columns, run {one.id}")
    if one.status != "finished":
        print(f"This run is not whole: {one.status}. What it lacks will be new to every diff.")
    return 0


# Named for its command, which nothing below needs as the builtin.
def range(options: argparse.Namespace, argv: Sequence[str]) -> int:
    listed = columns_module.load(options.columns_file or columns_module.DEFAULT_FILE)
    wanted = [getattr(options, name) or [] for name in ("kernels", "targets", "lanes")]
    shown = range_module.measured(options.store, options.run, listed, *wanted)
    formats = {
        "table": range_text.terminal, "markdown": range_text.markdown, "json": range_text.export,
    }  # fmt: skip
    print(formats[options.format](shown), end="")
    return 0


def bisect(options: argparse.Namespace, argv: Sequence[str]) -> int:
    return bisect_module.run(options, argv)


def blame(options: argparse.Namespace, argv: Sequence[str]) -> int:
    return blame_module.run(options, argv)


def columns(options: argparse.Namespace, argv: Sequence[str]) -> int:
    listed = columns_module.load(options.columns_file or columns_module.DEFAULT_FILE)
    if options.names:
        listed = tuple(columns_module.choose(listed, selection.split(options.names)))
    if options.ids:
        print("\n".join(column.id for column in listed))
        return 0
    rows = [
        [
            c.id,
            c.triton or c.resolver,
            c.torch or "newest",
            c.python,
            " ".join(c.requirements),
            "off the table" if c.swapped and not c.profile else " ".join(c.profile),
            " ".join(c.overrides),
        ]
        for c in listed
    ]
    heads = ["column", "triton", "torch", "python", "also", "profiles", "overridden"]
    if not any(c.overrides for c in listed):
        rows, heads = [row[:-1] for row in rows], heads[:-1]
    print(tabulate(rows, heads, disable_numparse=True))
    return 0


def update(options: argparse.Namespace, argv: Sequence[str]) -> int:
    path = options.columns_file or columns_module.DEFAULT_FILE
    listed = columns_module.load(path)
    found = releases.lacking(listed, Uv())
    made = update_module.proposed(found)
    if options.write and made:
        releases.write(path, made, listed)
    written = printable(str(path)) if options.write else ""
    print(update_module.text(found, listed, written), end="")
    return 0


def targets(options: argparse.Namespace, argv: Sequence[str]) -> int:
    listed = targets_module.load(options.targets_file or targets_module.DEFAULT_FILE)
    rows = [
        [
            name,
            t.product,
            t.triton or "all",
            t.warp_size,
            t.max_threads_per_block,
            t.shared_memory_optin,
        ]
        for name, t in listed.items()
    ]
    print(
        tabulate(
            rows,
            ["target", "product", "triton", "warp", "threads", "shared"],
            disable_numparse=True,
        )
    )
    return 0


def runs(options: argparse.Namespace, argv: Sequence[str]) -> int:
    with Store(options.store, must_exist=True) as store:
        rows = [
            [
                r.id,
                r.started,
                r.status,
                "" if r.exit_code is None else r.exit_code,
                r.cells,
                _short(r.argv),
            ]
            for r in store.runs()
        ]
    print(
        tabulate(
            rows, ["run", "started", "status", "exit", "cells", "command"], disable_numparse=True
        )
    )
    return 0


def doctor(options: argparse.Namespace, argv: Sequence[str]) -> int:
    known = issues.load(options.issues_file or issues.DEFAULT_FILE)
    targets = selection.split(options.targets) if options.targets else []
    if options.python:
        report = doctor_module.ask(options.python, options.guard, options.timeout)
    else:
        report = compat_doctor.examine(options.guard, options.timeout)
    report = doctor_module.with_issues(report, known, targets)
    text = compat_doctor.as_json(report) if options.json else doctor_text.render(report)
    print(text, end="")
    return report["exit_code"]


def docs(options: argparse.Namespace, argv: Sequence[str]) -> int:
    made = docs_module.pages(issues.load(options.issues_file or issues.DEFAULT_FILE))
    if not options.check:
        docs_module.write(options.out, made)
        print("\n".join(str(options.out / name) for name in made))
        return 0
    old = docs_module.stale(options.out, made)
    if old:
        print(
            f"Out of date in {options.out}: {', '.join(old)}. Run `crosswarp docs --out {options.out}`."
        )
    return 1 if old else 0


def libraries(options: argparse.Namespace, argv: Sequence[str]) -> int:
    _check_work(options.work)
    return libraries_module.run(options, argv)


def _short(argv: Sequence[str]) -> str:
    return escape.line("crosswarp " + " ".join(argv), 60)
