"""The command line.

    crosswarp run       the matrix: build what is missing, run, record, sum up
    crosswarp test      a library's own GPU tests on every column and target
    crosswarp init      settings for testing your library, from what its checkout says
    crosswarp report    a stored run as a table, web pages, Markdown, JSON, JUnit XML or CSV
    crosswarp diff      what regressed between two columns, runs or baselines
    crosswarp baseline  write a run as a small file, to be committed and compared with
    crosswarp range     the releases that a suite was measured green on, as a version specifier
    crosswarp bisect    the first bad release for one kernel, or the verdict on this interpreter
    crosswarp reproduce a red cell as one script that needs torch and triton alone, to attach to a report
    crosswarp issues    the known issues and whether a run shows them; --new: records for what is not known
    crosswarp blame     which of Triton, torch, numpy and Python carries a regression between two columns
    crosswarp plan      the jobs of a run, columns × shards, for CI
    crosswarp merge     the runs of several machines as the one run that they are the parts of
    crosswarp github    the comment on a pull request, and an issue for each new root cause
    crosswarp badge     badges of a stored run, as SVG and for shields.io, and its grid as a picture
    crosswarp doctor    what is installed here, what the shims heal of it, and what is left
    crosswarp vendor    shims as files inside another package, with licence and version
    crosswarp docs      the pages that are made from the records
    crosswarp libraries the ops of published libraries on every column, and the page that shows them
    crosswarp language  what triton.language holds in each release: names, options, what compiles
    crosswarp lint      what a library's files take from Triton that some releases do not have
    crosswarp update    the releases of Triton that the table of columns lacks, as columns to paste
    crosswarp columns / targets / runs    what there is to choose from

Exit status: 0 as expected: what is red is known, and green shimmed wherever its record names a shim; 1 something
unexpectedly red or green (diff: something regressed; doctor: something known is left unhealed; issues: a record is
contradicted; docs --check: a page is old, or a record cannot be right; blame: it could not be told; bisect --here: bad,
and 125 when it cannot say); 2 usage (doctor: or there is no Triton; bisect, blame: or an end is not what it was said to
be); 3 an environment could not be built; 4 the store failed; 130 cancelled.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Protocol, cast

# Each is a module of crosswarp.reports.commands; in the order of `crosswarp --help`.
COMMANDS = (
    "run", "test", "init", "lint", "report", "diff", "baseline", "range", "bisect", "blame", "reproduce", "issues",
    "plan", "merge", "github", "badge", "columns", "update", "targets", "runs", "doctor", "vendor", "docs", "language",
    "libraries", "guards",
)  # fmt: skip


class Command(Protocol):
    """The face of the module of one command."""

    HELP: str
    DESCRIPTION: str

    def add(self, parser: argparse.ArgumentParser) -> None:
        """Adds its options."""

    def run(self, options: argparse.Namespace, argv: Sequence[str]) -> int:
        """Does it, and gives the exit status; `argv` is the whole command line, for the record."""


def main(argv: Sequence[str] | None = None) -> int:
    arguments = list(sys.argv[1:] if argv is None else argv)
    # To `git bisect run` a 2 is a verdict, and a mistyped option is none.
    judging = arguments[:1] == ["bisect"] and any(one.startswith("--here") for one in arguments)
    # A command is loaded with all that it needs, and the others only to be told of.
    wanted = arguments[:1] if arguments and arguments[0] in COMMANDS else COMMANDS
    try:
        commands = {name: load(name) for name in wanted}
        from crosswarp.matrix.errors import CrosswarpError
        from crosswarp.reports.text import escape
    except ImportError as error:
        if (error.name or "").startswith("crosswarp"):
            raise
        print(
            f'crosswarp: {error}. Install the host side: pip install "crosswarp[matrix]" on Python 3.11 or newer. '
            "For the doctor alone, nothing but Python 3.9 is needed: python -m crosswarp.compat doctor",
            file=sys.stderr,
        )
        return 125 if judging else 2

    try:
        chosen = _parser(commands).parse_args(arguments)
    except SystemExit as stopped:
        if judging and stopped.code:
            return 125
        raise
    try:
        return commands[chosen.command].run(chosen, arguments)
    except CrosswarpError as error:
        sys.stdout.flush()
        print(f"crosswarp: {escape.terminal(str(error))}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("crosswarp: cancelled", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # `crosswarp report | head`: nobody reads any more, which is no error.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 125 if judging else 0


def load(name: str) -> Command:
    """Raises ImportError where a library of the host side is missing."""
    return cast(Command, import_module(f"crosswarp.reports.commands.{name}"))


def _parser(commands: Mapping[str, Command]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="crosswarp",
        description="Runs a Triton kernel suite on every Triton x torch pair and says what regressed.",
    )
    parsers = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, command in commands.items():
        command.add(parsers.add_parser(name, help=command.HELP, description=command.DESCRIPTION))
    return parser


if __name__ == "__main__":
    sys.exit(main())
