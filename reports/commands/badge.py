"""`crosswarp badge`: badges of a stored run, as SVG and for shields.io, and its grid as a picture."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from datetime import date
from pathlib import Path

from crosswarp.matrix.errors import UsageError
from crosswarp.matrix.results import packaged
from crosswarp.matrix.results.store import DEFAULT, Store
from crosswarp.reports.commands.options import add_files, add_run, add_store, known_issues
from crosswarp.reports.findings.view import view
from crosswarp.reports.page import grid
from crosswarp.reports.page.model import Model
from crosswarp.reports.text import badges, escape, folder

DESCRIPTION = (
    "Write a badge for the whole of a stored run, for each column and for each target, as SVG and "
    "as the JSON of a shields.io endpoint: all.svg, columns/triton-3.2.0.svg, targets/sm_90.svg, ..."
)
EXAMPLES = ("crosswarp badge --out docs/badges",)


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--out", type=Path, default=Path("badges"), metavar="DIR", help="where they go (badges)"
    )
    parser.add_argument(
        "--stale-before", type=_date, metavar="DATE",
        help="2026-11-21: what ran before that day is shown as stale (default: nothing is)",
    )  # fmt: skip
    parser.add_argument(
        "--baseline", action="store_true",
        help="of the baseline that is installed with crosswarp, not of a run of one's own",
    )  # fmt: skip
    add_run(parser)
    add_files(parser, "issues")
    add_store(parser)


def run(options: argparse.Namespace, argv: Sequence[str]) -> int:
    known = known_issues(options)
    with _source(options) as store:
        shown = view(store, known, options.run)
    made = badges.badges(shown, options.stale_before)
    files = {**badges.files(made), "grid.svg": grid.svg(shown, Model(shown, known))}
    folder.write(options.out, files)
    whole = made["all"]
    name = escape.terminal(str(options.out))
    print(f"{name}: {len(made)} badges and grid.svg ({whole.label} | {whole.message})")
    return 0


def _source(options: argparse.Namespace) -> Store:
    if not options.baseline:
        return Store(options.store, read_only=True)
    if options.run or options.store != DEFAULT:
        raise UsageError("--baseline is of no run and no store: leave --run and --store out.")
    return packaged.as_store()


def _date(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f'"{text}" is no day; write 2026-11-21') from None
