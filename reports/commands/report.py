"""`crosswarp report`: a stored run as a table, web pages, Markdown, JSON, JUnit XML or CSV."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path

from crosswarp.matrix.errors import UsageError
from crosswarp.matrix.facts import language_table
from crosswarp.matrix.results.store import Store
from crosswarp.reports import page
from crosswarp.reports.commands.options import (
    add_files,
    add_run,
    add_since,
    add_store,
    add_verbose,
    known_issues,
    opened_store,
    positive,
)
from crosswarp.reports.findings.consistency import consistency
from crosswarp.reports.findings.history import history
from crosswarp.reports.findings.since import compared
from crosswarp.reports.findings.view import view
from crosswarp.reports.text import colour, escape
from crosswarp.reports.text.comment import comment, markdown
from crosswarp.reports.text.consistency_text import consistency_text
from crosswarp.reports.text.export import export
from crosswarp.reports.text.junit import junit
from crosswarp.reports.text.spreadsheet import spreadsheet
from crosswarp.reports.text.summary import summary
from crosswarp.reports.text.table import table

DESCRIPTION = "Show a stored run."
EXAMPLES = (
    "crosswarp report",
    "crosswarp report --format html --out site",
    "crosswarp report --run 3 --json",
)


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--format", choices=("table", "html", "markdown", "comment", "json", "junit", "csv", "consistency"),
        default="table", metavar="FORMAT",
        help="table (default), html, markdown, json, junit, csv, comment or consistency. comment: Markdown for a pull "
        "request or a job summary, what is wrong first, under 60,000 bytes. "
        "consistency: of a run with --warps, how far numbers of warps, targets and releases agree, and what tolerances "
        "they need",
    )  # fmt: skip
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="where html goes, a folder of pages to open or to publish"
    )  # fmt: skip
    parser.add_argument(
        "--link", default="", metavar="URL", help="where a comment says the whole is"
    )
    add_since(parser)
    add_verbose(parser, "of a table: every kernel, and all details, of fixed known issues too")
    _add_ir(parser)
    add_run(parser)
    add_files(parser, "issues")
    add_store(parser)


def _add_ir(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("what the compiler made of it (html)")
    group.add_argument(
        "--ir",
        action="store_true",
        help="compile a few cells that began to fail or grew heavier anew, on both columns, and show MLIR, PTX, SASS "
        "and what differs",
    )
    group.add_argument(
        "--ir-at-most", type=positive, default=4, metavar="N", help="cells to show (4)"
    )
    group.add_argument(
        "--ir-python", action="append", default=[], metavar="COLUMN=PYTHON",
        help="the interpreter of a column, where it is not the environment in --work (repeatable)",
    )  # fmt: skip
    group.add_argument(
        "--suite",
        type=Path,
        metavar="DIR",
        help="the run's folder of kernels, where they are not ours",
    )
    group.add_argument("--work", type=Path, default=Path(".crosswarp"), metavar="DIR")


def run(options: argparse.Namespace, argv: Sequence[str]) -> int:
    if (options.format == "html") != bool(options.out):
        raise UsageError(
            "--format html writes a folder of pages, and nothing else does: write --format html --out DIR."
        )
    if options.ir and options.format != "html":
        raise UsageError("--ir adds pages. Write --format html --out DIR with it.")
    known = known_issues(options)
    # A pull request or a CI's own page gets results of a run, never of the baseline.
    of_a_run = options.format in ("comment", "junit")
    opened = Store(options.store, read_only=True) if of_a_run else opened_store(options)
    with opened as store:
        shown = view(store, known, options.run)
        past = history(store, shown.run) if options.format == "html" else []
    formats: dict[str, Callable[[], str]] = {
        "table": lambda: summary(shown, options.verbose, table(shown, options.verbose)),
        "markdown": lambda: markdown(shown),
        "comment": lambda: comment(
            shown, options.link, since=compared(shown, options.since, options.store, known)
        ),
        "json": lambda: export(shown),
        "junit": lambda: junit(shown),
        "csv": lambda: spreadsheet(shown),
        "consistency": lambda: consistency_text(consistency(shown.records)),
    }
    if options.format == "html":
        texts = None
        if options.ir:
            # The only format that runs anything: it brings the engine of a run.
            from crosswarp.reports.commands import ir_texts

            texts = ir_texts.texts(options, shown, known)
        page.write(options.out, page.site(shown, known, language_table.load(), past, texts))
        print(escape.terminal(str(options.out / "index.html")))
    else:
        colour.show_as(options.format, formats[options.format]())
    return 0
