"""`crosswarp plan`: the jobs of a run, columns × shards, each for a separate machine."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence

from crosswarp.matrix.errors import UsageError
from crosswarp.matrix.running import jobs
from crosswarp.matrix.work.suite_modules import left_out
from crosswarp.reports.commands import asked, own_tests
from crosswarp.reports.commands.options import add_files, add_selection, column_table, positive
from crosswarp.reports.text import escape
from crosswarp.reports.text.layout import fill

DESCRIPTION = (
    "Cut a run into jobs, columns × shards, from the same options as `crosswarp run`; --format github "
    "prints them as a job matrix of GitHub Actions."
)
EXAMPLES = ("crosswarp plan --triton all --shards 2 --format github",)


def add(parser: argparse.ArgumentParser) -> None:
    what = add_selection(parser)
    own_tests.add_library(
        what,
        "the checkout of a library (.): jobs of `crosswarp test`, which runs its own tests; its settings say the rest, "
        "and --sample how many of its tests",
    )
    add_files(parser, "columns", "targets", "issues")
    parser.add_argument(
        "--shards", type=positive, default=1, metavar="N", help="jobs for each column (1)"
    )
    parser.add_argument("--format", choices=("table", "github"), default="table")


def run(options: argparse.Namespace, argv: Sequence[str]) -> int:
    if options.library is not None:
        return _of_library(options)
    _, columns = asked.chosen_columns(options)
    planned = jobs.jobs([column.id for column in columns], options.shards, asked.words(options))
    if options.format == "github":
        print(jobs.github(planned), end="")
        return 0
    wanted = asked.asked(options)
    if skipped := left_out(wanted.suite):
        print(escape.terminal(skipped), file=sys.stderr)
    kernels = "all kernels" if wanted.kernels == ("*",) else f"kernels {', '.join(wanted.kernels)}"
    _show(planned, [wanted.targets, wanted.lanes, wanted.modes, [kernels]])
    return 0


def _of_library(options: argparse.Namespace) -> int:
    given = ("kernels", "suite", "sanitize")
    wrong = [f"--{name}" for name in given if getattr(options, name)]
    if wrong:
        raise UsageError(f"--library is of a library's own tests. Leave out {', '.join(wrong)}.")
    wanted = own_tests.asked(options, options.library)
    library = wanted.library
    columns = library.columns(options.columns or [], column_table(options))
    planned = jobs.jobs(
        [column.id for column in columns], options.shards, own_tests.words(options, options.library), "test"
    )  # fmt: skip
    if options.format == "github":
        print(jobs.github(planned), end="")
        return 0
    tests = f"tests of {library.declared.name}: {', '.join(library.tests().paths)}"
    _show(planned, [wanted.targets, wanted.lanes, wanted.modes, [tests]])
    return 0


def _show(planned: Sequence[jobs.Job], selection: Sequence[Iterable[str]]) -> None:
    print("\n".join(f"crosswarp {job.command} {job.run}" for job in planned) + "\n")
    print(fill("", escape.terminal("; ".join(", ".join(words) for words in selection))))
