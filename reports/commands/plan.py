"""`crosswarp plan`: the jobs of a run, columns × shards, for machines of their own."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from crosswarp.matrix.running import jobs
from crosswarp.matrix.running.plan import left_out
from crosswarp.reports.commands import asked
from crosswarp.reports.commands.options import add_files, add_selection, positive
from crosswarp.reports.text import escape

HELP = "the jobs of a run, for CI"
DESCRIPTION = (
    "Cut a run into jobs, columns × shards, from the same options as `crosswarp run`; --format github "
    "prints them as a job matrix of GitHub Actions."
)
EXAMPLES = ("crosswarp plan --columns all --shards 2 --format github",)


def add(parser: argparse.ArgumentParser) -> None:
    add_selection(parser)
    add_files(parser, "columns", "targets", "issues")
    parser.add_argument(
        "--shards", type=positive, default=1, metavar="N", help="jobs for each column (1)"
    )
    parser.add_argument("--format", choices=("table", "github"), default="table")


def run(options: argparse.Namespace, argv: Sequence[str]) -> int:
    _, columns = asked.chosen_columns(options)
    planned = jobs.jobs([column.id for column in columns], options.shards, asked.words(options))
    if options.format == "github":
        print(jobs.github(planned), end="")
        return 0
    found = asked.asked(options)
    if skipped := left_out(found.suite):
        print(escape.terminal(skipped), file=sys.stderr)
    print("\n".join(f"crosswarp run {job.run}" for job in planned))
    kernels = "all kernels" if found.kernels == ("*",) else f"kernels {', '.join(found.kernels)}"
    print(
        f"\n{', '.join(found.targets)}; {', '.join(found.lanes)}; {', '.join(found.modes)}; {kernels}"
    )
    return 0
