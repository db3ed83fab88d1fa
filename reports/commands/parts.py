"""`crosswarp plan` and `crosswarp merge`: a run in parts, on machines of their own."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from crosswarp.matrix.facts import issues
from crosswarp.matrix.results.store import Store
from crosswarp.matrix.running import jobs
from crosswarp.matrix.running import merge as merge_module
from crosswarp.matrix.running.plan import left_out
from crosswarp.reports.commands import asked
from crosswarp.reports.findings.view import view
from crosswarp.reports.text import colour, escape
from crosswarp.reports.text.summary import summary


def plan(options: argparse.Namespace, argv: Sequence[str]) -> int:
    _, columns = asked.columns(options)
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


def merge(options: argparse.Namespace, argv: Sequence[str]) -> int:
    expected = jobs.read(options.expect) if options.expect else ()
    known = issues.load(options.issues_file or issues.DEFAULT_FILE)
    merged = merge_module.merge(options.stores, options.into, known, argv, expected)
    with Store(options.into) as store:
        colour.show(summary(view(store, known, merged.run)))
    name = escape.terminal(str(options.into))
    print(f"\n{name}: run {merged.run}, {merged.cells} cells from {len(options.stores)} parts")
    return merged.exit_code
