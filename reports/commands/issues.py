"""`crosswarp issues`: the known issues against a run or a baseline, and records for what is not known."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from crosswarp.matrix.errors import UsageError
from crosswarp.matrix.results import baseline
from crosswarp.matrix.results.verdict import ByKernel
from crosswarp.reports.commands.options import (
    add_files,
    add_run,
    add_store,
    known_issues,
    opened_store,
)
from crosswarp.reports.findings.proofs import columns_of, of_verdict, proofs
from crosswarp.reports.findings.view import view
from crosswarp.reports.reproducing.drafts import drafts
from crosswarp.reports.text import colour, escape, proofs_text

DESCRIPTION = (
    "List the known issues with the releases on which the case of each fails, and whether it passes with compat. "
    "Exit status: 0 all as the entries of issues.toml say, 1 one is contradicted, 2 usage. With --new: entries to "
    "paste "
    "for failures that are not known."
)
EXAMPLES = (
    "crosswarp issues",
    "crosswarp issues --new",
    "crosswarp issues --baseline baseline/all.json",
)
FORMATS = {
    "table": proofs_text.terminal, "markdown": proofs_text.markdown, "json": proofs_text.export,
}  # fmt: skip


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--new", action="store_true",
        help="an [[issue]] entry for each root cause that none explains, ready to paste but for its link",
    )  # fmt: skip
    add_run(parser)
    parser.add_argument(
        "--baseline", type=Path, metavar="FILE", help="what `crosswarp baseline write` wrote, in place of a run"
    )  # fmt: skip
    parser.add_argument("--format", choices=tuple(FORMATS), default="table")
    add_files(parser, "issues")
    add_store(parser)


def run(options: argparse.Namespace, argv: Sequence[str]) -> int:
    known = known_issues(options)
    if options.baseline:
        if options.new or options.run:
            raise UsageError("--baseline is looked at as a whole. Leave out --new and --run.")
        name, records = options.baseline.name, baseline.read(options.baseline)
        proved = proofs(records, known)
    else:
        by_kernel = ByKernel(known)
        with opened_store(options) as store:
            shown = view(store, by_kernel, options.run, brief=not options.new)
        name, records = shown.run.name, list(shown.records)
        proved = of_verdict(records, shown.verdict, by_kernel)
        if options.new:
            made = escape.terminal("\n".join(drafts(shown, known)))
            print(made or "# Nothing fails that no known issue explains.\n", end="")
            return 0
    text = FORMATS[options.format](proved, list(columns_of(records)), name)
    colour.show_as(options.format, text)
    return 1 if any(proof.verdict == "contradicted" for proof in proved) else 0
