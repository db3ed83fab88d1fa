"""`crosswarp guards`: is my workaround still needed? Both sides of each test for a version or a GPU, run."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from crosswarp.matrix import versions
from crosswarp.matrix.checkout import settings
from crosswarp.matrix.environments import here
from crosswarp.matrix.environments.uvtool import Uv
from crosswarp.matrix.errors import EXIT_EXPECTED, UsageError
from crosswarp.matrix.facts import columns, language_table, selection, targets
from crosswarp.matrix.facts.columns import Column
from crosswarp.matrix.linting import guards
from crosswarp.matrix.linting.guards import Guard
from crosswarp.matrix.results.record import MODES
from crosswarp.matrix.running import plan
from crosswarp.matrix.work import library_guards, library_ops
from crosswarp.matrix.work.library_guards import Trial
from crosswarp.matrix.work.library_ops import Library, LibraryFile, LibraryOps
from crosswarp.matrix.work.suite import Suite
from crosswarp.reports.commands import placing
from crosswarp.reports.commands.options import (
    add_files,
    add_globs,
    add_numbers,
    add_triton,
    add_work,
    check_work,
    column_table,
    known_issues,
    one_way,
    target_table,
    write_out,
)
from crosswarp.reports.findings.guards import answers
from crosswarp.reports.text import escape, guards_text

DESCRIPTION = (
    "Find the tests of a library's source that ask for a version of Triton or for the hardware, and run what they "
    "decide both ways on every column and target: as it is, and with that one test turned round. A library of "
    "libraries.toml is run by the ops of `crosswarp libraries`, a folder by a suite of kernel modules that call it "
    "(--suite). Without either, and with --list, the guards are found and nothing is run. Exit status: 0 done, 1 a run "
    "was cut short."
)
EXAMPLES = (
    "crosswarp guards liger-kernel --list",
    "crosswarp guards liger-kernel --ops rope,swiglu --triton 3.2.0,3.6.0 --targets sm_90,gfx942",
    "crosswarp guards mylib --suite my_kernels --triton 3.2.0,3.9.0",
)
LANES = ("compile", "emulate")


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "library", metavar="PACKAGE_OR_FOLDER",
        help="a release of libraries.toml (the newest of a name), or a folder on which it is imported",
    )  # fmt: skip
    parser.add_argument("--list", action="store_true", help="find them, and run nothing")
    parser.add_argument(
        "--suite", type=Path, metavar="DIR", help="kernel modules that call the library in a folder"
    )
    add_triton(parser, "ids, globs or profiles (default: every published pair)")
    add_globs(
        parser,
        ("guards", "PATH:LINE:COLUMN, or the test's own text (default: all)"),
        ("ops", "of a library of libraries.toml (default: all)"),
        ("cases", "ids of cases (default: all)"),
        ("targets", "(default: sm_90)"),
    )
    parser.add_argument(
        "--here", type=Path, action="append", metavar="PYTHON",
        help="the interpreter named, in place of columns; may be repeated",
    )  # fmt: skip
    parser.add_argument("--lane", choices=LANES, default="compile", help="(compile)")
    parser.add_argument("--mode", choices=MODES, default="bare", help="(bare)")
    parser.add_argument(
        "--configurations", type=int, default=2, metavar="N",
        help="to which an autotuned kernel of an op is limited; 0 for all (2)",
    )  # fmt: skip
    add_numbers(
        parser,
        ("time-limit", 120, "S", "for one case (120)"),
        ("memory-limit", 6000, "MB", "for one compilation (6000)"),
        ("column-limit", 7200, "S", "for one column (7200)"),
    )
    add_globs(parser, ("exclude", "files to leave out"))
    parser.add_argument("--format", choices=guards_text.FORMATS, default="text", help="(text)")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write it there instead")
    add_work(parser)
    add_files(parser, "columns", "targets", "issues", "libraries")


@dataclass(frozen=True)
class _Asked:
    """The library, where it lies, and what calls it."""

    name: str
    folder: Path
    suite: Path | None
    kernels: tuple[str, ...] = ("*",)
    release: LibraryOps | None = None
    left_out: tuple[str, ...] = ()

    def work(self, columns: Sequence[Column]) -> Suite:
        if self.release is not None:
            # An op puts the library on its path by itself.
            return self.release
        return Suite(self.suite, beside={column.id: [self.folder] for column in columns})


def run(options: argparse.Namespace, argv: Sequence[str]) -> int:
    asked = _asked(options)
    left_out = [*asked.left_out, *(selection.split(options.exclude) if options.exclude else [])]
    table = column_table(options)
    releases = sorted(language_table.load(), key=versions.sort_key)
    listed = guards.find(asked.folder, releases, left_out)
    chosen = _chosen(listed.guards, options.guards)
    trials: list[Trial] = []
    places: list[tuple[str, str]] = []
    known = known_issues(options)
    running = asked.suite is not None and not options.list and bool(chosen)
    if running:
        on = targets.choose(target_table(options), selection.split(options.targets or ["sm_90"]))
        chosen_columns = _columns(options, table)
        planned = plan.Plan(
            work=asked.work([column for column, _ in chosen_columns]),
            columns=(), targets=on, lanes=(options.lane,), modes=(options.mode,), kernels=asked.kernels,
            cases=tuple(selection.split(options.cases or ["*"])), time_limit=options.time_limit,
            memory_limit_mb=options.memory_limit, column_limit=options.column_limit,
        )  # fmt: skip
        for column, prepare in chosen_columns:
            trials += library_guards.ask(
                prepare(column), column.id, planned, asked.folder, listed.guards, chosen, known,
                here=bool(options.here), say=_say,
            )  # fmt: skip
            places += [(column.id, target) for target in on]
    answered = answers(
        [guard for guard in listed.guards if guard.id in set(chosen)], chosen if running else (), trials, places
    )  # fmt: skip
    report = guards_text.Report(
        asked.name, answered, listed.unreadable,
        listed.files - listed.left, releases, options.lane if running else "", len(trials),
        {issue.id: issue for issue in known},
    )  # fmt: skip
    _write(report, options)
    return EXIT_EXPECTED


def _asked(options: argparse.Namespace) -> _Asked:
    file = library_ops.load(options.libraries_file or library_ops.DEFAULT_FILE)
    folder = Path(options.library)
    suite: Path | None = options.suite.resolve() if options.suite else None
    if suite is not None and not suite.is_dir():
        raise UsageError(f"--suite {suite}: there is no such folder. Name one of kernel modules.")
    if folder.is_dir():
        left_out = settings.load(folder).settings.lint_exclude
        return _Asked(options.library, folder.resolve(), suite, left_out=left_out)
    library = _release(file, options.library)
    if suite is not None:
        raise UsageError(f"--suite is for a folder; {library.id} has its ops. Leave it out.")
    check_work(options.work)
    home = library_ops.Installer((options.work / "libraries").absolute(), Uv(), _say)(library)
    release = LibraryOps(
        folders={library: home}, ops=selection.split(options.ops or ["*"]),
        configurations=options.configurations,
    )  # fmt: skip
    # Its dependencies are installed there too, and contain other version checks.
    return _Asked(library.id, home, library_ops.SUITE, (f"{library.family}_*",), release)


def _release(file: LibraryFile, text: str) -> Library:
    named = [library for library in file.library if text in (library.id, library.name)]
    if not named:
        names = dict.fromkeys(library.name for library in file.library)
        raise UsageError(
            f"{text}: there is no such folder, and no such library in libraries.toml. Name the folder that holds the "
            f"library, or one of: {', '.join(names)}."
        )
    return max(named, key=lambda library: versions.sort_key(library.release))


def _chosen(listed: Sequence[Guard], wanted: Sequence[str] | None) -> list[str]:
    if not wanted:
        return [guard.id for guard in listed]
    globs = selection.split(wanted)
    for glob in globs:
        if not any(_is(guard, glob) for guard in listed):
            raise UsageError(f'--guards: "{glob}" is no guard of it. --list tells which there are.')
    return [guard.id for guard in listed if any(_is(guard, glob) for glob in globs)]


def _is(guard: Guard, glob: str) -> bool:
    line = guard.id.rpartition(":")[0]
    return any(fnmatchcase(text, glob) for text in (guard.id, line, guard.path, guard.text))


def _columns(options: argparse.Namespace, table: Sequence[Column]) -> list[tuple[Column, Any]]:
    one_way(options)
    if options.here:
        # Not resolved: an environment's interpreter is a link to another's.
        looked = [here.look(python) for python in options.here]
        return [(environment.column, environment) for environment in looked]
    check_work(options.work)
    prepare = placing.builder(options, _say)
    chosen = placing.chosen(options) or columns.published(table)
    return [(column, prepare) for column in chosen]


def _write(report: guards_text.Report, options: argparse.Namespace) -> None:
    if write_out(guards_text.rendered(report, options.format), options.out):
        print(escape.line(guards_text.summary(report)))


def _say(text: str) -> None:
    print(escape.line(text, 300), file=sys.stderr)
