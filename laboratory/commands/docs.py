"""`crosswarp docs`: the pages that are made from the records."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from datetime import date
from pathlib import Path

from crosswarp import compat
from crosswarp.compat import listing, shims
from crosswarp.laboratory.pages import docs
from crosswarp.matrix.facts import columns, issue_lints, known_texts
from crosswarp.reports.commands.options import add_files, known_issues
from crosswarp.reports.text import escape

DESCRIPTION = (
    "Write the pages that are made from data: shims.md, api.md, language.md and report.schema.json, and "
    "issues.md of a baseline."
)
EXAMPLES = (
    "crosswarp docs",
    "crosswarp docs --check",
)


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", type=Path, default=Path("docs"), metavar="DIR", help="(docs)")
    parser.add_argument(
        "--check",
        action="store_true",
        help="write nothing; exit 1 if a page is out of date or an entry of issues.toml cannot be right",
    )
    parser.add_argument(
        "--baseline", type=Path, metavar="FILE", help="(baseline/all.json, where there is one)"
    )
    add_files(parser, "issues")


def run(options: argparse.Namespace, argv: Sequence[str]) -> int:
    there = docs.BASELINE if docs.BASELINE.is_file() else None
    known = known_issues(options)
    made = docs.pages(known, options.baseline or there)
    if not options.check:
        docs.write(options.out, made)
        if not options.issues_file:
            # The data that `crosswarp why` reads, of the same records.
            known_texts.PACKED.write_text(known_texts.pack(), encoding="utf-8")
            _write_listing()
        print("\n".join(str(options.out / name) for name in made))
        return 0
    # Other people's entries name kernels and shims that are not here.
    lints = [] if options.issues_file else issue_lints.problems(
        known, compat.all_shims(), columns.load(), date.today()
    )  # fmt: skip
    for problem in lints:
        print(f"issues.toml: {escape.terminal(problem)}")
    old = docs.stale(options.out, made)
    if old:
        print(
            f"Out of date in {options.out}: {', '.join(old)}. Run `crosswarp docs --out {options.out}`."
        )
    return 1 if old or lints else 0


def _write_listing() -> None:
    rows = "".join(f"    {(*shims.in_list(shim),)!r},\n" for shim in compat.all_shims())
    text = (
        '"""Made by `crosswarp docs`, of the records: the fields of each `Listed`; installing reads this alone."""\n'
        f"\n# ruff: noqa: E501, Q000\n# fmt: off\nLISTING = (\n{rows})\n"
    )
    Path(listing.__file__).write_text(text, encoding="utf-8")
