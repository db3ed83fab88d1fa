"""`crosswarp issues`: the known issues against a run or a baseline, and records for what is not known."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from crosswarp.matrix.errors import UsageError
from crosswarp.matrix.facts import issues as known_issues
from crosswarp.matrix.results import baseline
from crosswarp.matrix.results.store import Store
from crosswarp.reports.findings.proofs import columns_of, proofs
from crosswarp.reports.findings.view import view
from crosswarp.reports.reproducing.drafts import drafts
from crosswarp.reports.text import colour, escape, proofs_text


def run(options: argparse.Namespace, argv: Sequence[str]) -> int:
    known = known_issues.load(options.issues_file or known_issues.DEFAULT_FILE)
    if options.baseline:
        if options.new or options.run:
            raise UsageError("--baseline is looked at as a whole. Leave out --new and --run.")
        name, records = options.baseline.name, baseline.read(options.baseline)
    else:
        with Store(options.store, must_exist=True) as store:
            shown = view(store, known, options.run)
        name, records = f"run {shown.run.id}", list(shown.records)
        if options.new:
            made = escape.terminal("\n".join(drafts(shown, known)))
            print(made or "# Nothing is red that no known issue explains.\n", end="")
            return 0
    found = proofs(records, known)
    text = getattr(
        proofs_text, {"table": "terminal", "json": "export"}.get(options.format, options.format)
    )
    said = text(found, list(columns_of(records)), name)
    if options.format == "table":
        colour.show(said)
    else:
        print(said, end="")
    return 1 if any(one.verdict == "contradicted" for one in found) else 0
