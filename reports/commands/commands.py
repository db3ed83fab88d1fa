"""What each command does. The parser is in cli.py, which loads this once the libraries are known to be here."""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path

from tabulate import tabulate

from crosswarp import compat, kernels
from crosswarp.compat import doctor as compat_doctor
from crosswarp.compat import doctor_text
from crosswarp.matrix.environments import here, releases, resolver
from crosswarp.matrix.environments.environment import Builder
from crosswarp.matrix.environments.uvtool import Uv
from crosswarp.matrix.errors import UsageError
from crosswarp.matrix.facts import columns as columns_module
from crosswarp.matrix.facts import issue_lints, language_table, selection
from crosswarp.matrix.facts import issues as known_issues
from crosswarp.matrix.facts import targets as targets_module
from crosswarp.matrix.results import baseline as baseline_module
from crosswarp.matrix.results.store import Store
from crosswarp.matrix.running.plan import Plan, check_shard, default_jobs, left_out
from crosswarp.matrix.running.progress import progress
from crosswarp.matrix.running.revision import revision
from crosswarp.matrix.running.run import Prepare, Runner
from crosswarp.reports import page
from crosswarp.reports.commands import asked, parts
from crosswarp.reports.commands import bisect as bisect_module
from crosswarp.reports.commands import blame as blame_module
from crosswarp.reports.commands import github as github_module
from crosswarp.reports.commands import issues as issues_module
from crosswarp.reports.commands import language as language_module
from crosswarp.reports.commands import libraries as libraries_module
from crosswarp.reports.commands import update as update_module
from crosswarp.reports.findings import diff as diff_module
from crosswarp.reports.findings import doctor as doctor_module
from crosswarp.reports.findings import range as range_module
from crosswarp.reports.findings.view import view
from crosswarp.reports.page import grid
from crosswarp.reports.page.model import Model
from crosswarp.reports.reproducing import reproduce as reproduce_module
from crosswarp.reports.text import badges, colour, diff_text, escape, folder, range_text
from crosswarp.reports.text import docs as docs_module
from crosswarp.reports.text.comment import comment
from crosswarp.reports.text.export import export
from crosswarp.reports.text.junit import junit
from crosswarp.reports.text.markdown import markdown
from crosswarp.reports.text.spreadsheet import spreadsheet
from crosswarp.reports.text.summary import summary
from crosswarp.reports.text.table import table

printable = escape.terminal
plan, merge = parts.plan, parts.merge


def run(options: argparse.Namespace, argv: Sequence[str]) -> int:
    known = known_issues.load(options.issues_file or known_issues.DEFAULT_FILE)
    wanted = asked.asked(options)
    lanes = wanted.lanes
    with progress() as shown:
        prepare: Prepare
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
            listed, chosen = asked.columns(options)
            if options.main:
                resolver.check_reference(options.main)
            prepare = Builder(
                (options.work / "envs").absolute(), listed, Uv(), options.main, options.nightly_index,
                shown.say,
            )  # fmt: skip
        if options.main and not any(column.resolver for column in chosen):
            raise UsageError(
                f"--main names a build for the column main, and what runs is {', '.join(c.id for c in chosen)}. "
                "Leave it out, or add the column: --columns main."
            )
        planned = Plan(
            columns=tuple(chosen),
            targets=wanted.targets,
            lanes=lanes,
            emulated=wanted.emulated,
            modes=wanted.modes,
            kernels=wanted.kernels,
            jobs=options.jobs or default_jobs(),
            time_limit=options.time_limit,
            memory_limit_mb=options.memory_limit,
            column_limit=options.column_limit,
            suite=wanted.suite,
            fresh=options.fresh,
            shard=check_shard(options.shard),
            commit=revision(wanted.suite or Path(kernels.__file__).parent),
        )
        _check_work(options.work)
        if skipped := left_out(wanted.suite):
            shown.say(skipped)
        with Store(options.store) as store:
            runner = Runner(
                planned, store, options.work, prepare, shown, known, argv, here=bool(options.here)
            )
            result = runner()
            ended = view(store, known, result.run)
    colour.show(summary(ended))
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
    if (options.format == "html") != bool(options.out):
        raise UsageError(
            "--format html writes a folder of pages, and nothing else does: write --format html --out DIR."
        )
    known = known_issues.load(options.issues_file or known_issues.DEFAULT_FILE)
    with Store(options.store, must_exist=True) as store:
        shown = view(store, known, options.run)
    formats: dict[str, Callable[[], str]] = {
        "table": lambda: f"{summary(shown)}\n{table(shown)}\n",
        "markdown": lambda: markdown(shown),
        "comment": lambda: comment(shown, options.link),
        "json": lambda: export(shown),
        "junit": lambda: junit(shown),
        "csv": lambda: spreadsheet(shown),
    }
    if options.format == "html":
        page.write(options.out, page.site(shown, known, language_table.load()))
        print(printable(str(options.out / "index.html")))
    else:
        _show(options.format, formats[options.format]())
    return 0


def _show(form: str, text: str) -> None:
    # Only what is for people has colours and links; other programs read the rest.
    if form == "table":
        colour.show(text)
    else:
        print(text, end="")


def badge(options: argparse.Namespace, argv: Sequence[str]) -> int:
    known = known_issues.load(options.issues_file or known_issues.DEFAULT_FILE)
    with Store(options.store, must_exist=True) as store:
        shown = view(store, known, options.run)
    made = badges.badges(shown, options.stale_before)
    files = {**badges.files(made), "grid.svg": grid.svg(shown, Model(shown, known))}
    folder.write(options.out, files)
    whole = made["all"]
    print(
        f"{printable(str(options.out))}: {len(made)} badges and grid.svg ({whole.label} | {whole.message})"
    )
    return 0


def diff(options: argparse.Namespace, argv: Sequence[str]) -> int:
    known = known_issues.load(options.issues_file or known_issues.DEFAULT_FILE)
    before, after = (diff_module.side(text, options.store) for text in (options.a, options.b))
    found = diff_module.diff(before, after, known)
    formats = {
        "table": diff_text.terminal, "markdown": diff_text.markdown, "json": diff_text.export,
    }  # fmt: skip
    _show(options.format, formats[options.format](found))
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
        status = escape.line(one.status, 200)
        print(f"This run is not whole: {status}. What it lacks will be new to every diff.")
    return 0


# Named for its command, which nothing below needs as the builtin.
def range(options: argparse.Namespace, argv: Sequence[str]) -> int:
    listed = columns_module.load(options.columns_file or columns_module.DEFAULT_FILE)
    wanted = [getattr(options, name) or [] for name in ("kernels", "targets", "lanes")]
    shown = range_module.measured(options.store, options.run, listed, *wanted)
    formats = {
        "table": range_text.terminal, "markdown": range_text.markdown, "json": range_text.export,
    }  # fmt: skip
    _show(options.format, formats[options.format](shown))
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
            ", ".join(t.names) or t.product,
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
            ["target", "products", "triton", "warp", "threads", "shared"],
            disable_numparse=True,
        )
    )
    return 0


def runs(options: argparse.Namespace, argv: Sequence[str]) -> int:
    with Store(options.store, must_exist=True) as store:
        rows = [
            [
                r.id,
                escape.line(r.started, 40),
                escape.line(r.status, 40),
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
    known = known_issues.load(options.issues_file or known_issues.DEFAULT_FILE)
    targets: list[str] = []
    if options.targets:
        # A name that is none would find nothing left to heal.
        table = targets_module.load()
        targets = list(targets_module.choose(table, selection.split(options.targets)))
    if options.python:
        report = doctor_module.ask(options.python, options.guard, options.timeout)
    else:
        report = compat_doctor.examine(options.guard, options.timeout)
    report = doctor_module.with_issues(report, known, targets)
    text = compat_doctor.as_json(report) if options.json else doctor_text.render(report)
    print(text, end="")
    return report["exit_code"]


def docs(options: argparse.Namespace, argv: Sequence[str]) -> int:
    there = docs_module.BASELINE if docs_module.BASELINE.is_file() else None
    known = known_issues.load(options.issues_file or known_issues.DEFAULT_FILE)
    made = docs_module.pages(known, options.baseline or there)
    if not options.check:
        docs_module.write(options.out, made)
        print("\n".join(str(options.out / name) for name in made))
        return 0
    # Records of others speak of kernels and shims that are not here.
    lints = [] if options.issues_file else issue_lints.problems(
        known, compat.all_shims(), columns_module.load(), date.today()
    )  # fmt: skip
    for problem in lints:
        print(f"issues.toml: {printable(problem)}")
    old = docs_module.stale(options.out, made)
    if old:
        print(
            f"Out of date in {options.out}: {', '.join(old)}. Run `crosswarp docs --out {options.out}`."
        )
    return 1 if old or lints else 0


def reproduce(options: argparse.Namespace, argv: Sequence[str]) -> int:
    return reproduce_module.run(options, argv)


def issues(options: argparse.Namespace, argv: Sequence[str]) -> int:
    return issues_module.run(options, argv)


def github(options: argparse.Namespace, argv: Sequence[str]) -> int:
    return github_module.run(options, argv)


def language(options: argparse.Namespace, argv: Sequence[str]) -> int:
    _check_work(options.work)
    return language_module.run(options, argv)


def libraries(options: argparse.Namespace, argv: Sequence[str]) -> int:
    _check_work(options.work)
    return libraries_module.run(options, argv)


def _short(argv: Sequence[str]) -> str:
    return escape.line("crosswarp " + " ".join(argv), 60)
