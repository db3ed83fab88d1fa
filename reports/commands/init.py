"""`crosswarp init`: the settings of a library, written from what its checkout says."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from crosswarp.matrix.checkout import finding, settings, settings_file
from crosswarp.matrix.checkout.finding import Found as Finding
from crosswarp.matrix.errors import UsageError
from crosswarp.matrix.facts import costs
from crosswarp.reports.commands.options import add_files, column_table
from crosswarp.reports.commands.own_tests import checkout
from crosswarp.reports.text import escape

DESCRIPTION = (
    "Write crosswarp.toml from what a library's checkout says: its tests, what they need, the range of Triton and "
    "torch in its metadata, its compiled extensions. Says what was found; a file that is there is never written over."
)
EXAMPLES = (
    "crosswarp init",
    "crosswarp init --print ../mylib",
)


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "path", nargs="?", type=Path, default=Path("."), metavar="PATH", help="the checkout (.)"
    )
    parser.add_argument(
        "--print", action="store_true", dest="only", help="print the file, write nothing"
    )
    add_files(parser, "columns")


def run(options: argparse.Namespace, argv: Sequence[str]) -> int:
    folder = checkout(options.path)
    there = settings.load(folder).path
    if there is not None and not options.only:
        raise UsageError(
            f"{there} holds settings already. Change those, or see with --print what would be written."
        )
    facts = finding.find(folder, column_table(options))
    made = finding.text(facts)
    if options.only:
        print(escape.terminal(made), end="")
        return 0
    path = folder / settings_file.OWN_FILE
    try:
        # Never overwrite a file created meanwhile.
        with path.open("x", encoding="utf-8") as file:
            file.write(made)
    except OSError as error:
        raise UsageError(
            f"{path}: {error.strerror or error}. Name a checkout that can be written."
        ) from None
    for line in facts.notes:
        print(escape.terminal(line))
    print(escape.terminal(f"{path} is written. {_next(facts, options)}"))
    return 0


def _next(facts: Finding, options: argparse.Namespace) -> str:
    """The next steps with the findings, and what each needs."""
    if not facts.tests:
        checked = f", crosswarp check {facts.kernels[0]}" if facts.kernels else ""
        where = "" if options.path == Path(".") else f" {options.path}"
        return (
            f"There are no tests for `crosswarp test` to run. Next: crosswarp lint{where}{checked}"
        )
    if facts.idle:
        return (
            "These tests import neither torch nor Triton, so they launch no kernel. Next: name others with `tests` in "
            "that file, then crosswarp test --triton newest"
        )
    if not facts.columns:
        return "So crosswarp test has no column yet. Next: crosswarp test --triton newest"
    cost = costs.load().environment.megabytes / 1000
    if len(facts.columns) == 1:
        return f"crosswarp test builds one environment of about {cost:.1f} GB. Next: crosswarp test"
    return (
        f"crosswarp test builds an environment for each column: {len(facts.columns)} times about {cost:.1f} GB. "
        f"Next: crosswarp test --triton {facts.columns[-1]}, then crosswarp test"
    )
