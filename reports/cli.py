"""The command line.

    crosswarp why       what an error's text is known for, and the lines that heal it
    crosswarp check     the kernels of any file, compiled on the Triton at hand
    crosswarp run       the matrix: build what is missing, run, record, sum up
    crosswarp test      a library's own GPU tests on every column and target
    crosswarp inductor  the kernels that torch.compile writes, generated without a GPU, on any Triton
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
    crosswarp fuzz      generated programs on every Triton, and what one does otherwise than the others
    crosswarp lint      what a library's files take from Triton that some releases do not have
    crosswarp update    the releases of Triton that the table of columns lacks, as columns to paste
    crosswarp columns / targets / runs    what there is to choose from

Exit status: 0 as expected: what is red is known, and green shimmed wherever its record names a shim; 1 something
unexpectedly red or green (diff: something regressed; doctor: something known is left unhealed; issues: a record is
contradicted; why: nothing known says this; docs --check: a page is old, or a record cannot be right; blame: it could
not be told; bisect --here: bad, and 125 when it cannot say); 2 usage (doctor: or there is no Triton; bisect, blame: or
an end is not what it was said to be); 3 an environment could not be built; 4 the store failed; 130 cancelled.
"""

from __future__ import annotations

import argparse
import difflib
import os
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

from crosswarp.compat import __version__
from crosswarp.matrix.errors import EXIT_USAGE, CrosswarpError
from crosswarp.reports.text import escape

_INSTALL = (
    'Install the host side: pip install "crosswarp[matrix]" on Python 3.11 or newer (uvx --from "crosswarp[matrix]" '
    "crosswarp ...). Without it there are `crosswarp why` and `crosswarp doctor`, and for the doctor alone Python 3.9 "
    "is enough: python -m crosswarp.compat doctor"
)
_EXAMPLES = "examples:"

# Each is a module of crosswarp.reports.commands; in the order of `crosswarp --help`.
COMMANDS = (
    "why", "check", "run", "test", "inductor", "init", "lint", "report", "diff", "baseline", "range", "bisect", "blame",
    "reproduce", "issues", "plan", "merge", "github", "badge", "columns", "update", "targets", "runs", "doctor",
    "vendor", "docs", "language", "libraries", "guards", "fuzz",
)  # fmt: skip


class Command(Protocol):
    """The face of the module of one command."""

    HELP: str
    DESCRIPTION: str
    # Command lines to copy, shown below its options.
    EXAMPLES: Sequence[str]

    def add(self, parser: argparse.ArgumentParser) -> None:
        """Adds its options."""

    def run(self, options: argparse.Namespace, argv: Sequence[str]) -> int:
        """Does it, and gives the exit status; `argv` is the whole command line, for the record."""


def main(argv: Sequence[str] | None = None) -> int:
    arguments = list(sys.argv[1:] if argv is None else argv)
    # To `git bisect run` a 2 is a verdict, and a mistyped option is none.
    judging = arguments[:1] == ["bisect"] and any(one.startswith("--here") for one in arguments)
    if arguments and not arguments[0].startswith("-") and arguments[0] not in COMMANDS:
        print(f"crosswarp: {_unknown(arguments[0])}", file=sys.stderr)
        return EXIT_USAGE
    # A command is loaded with all that it needs, and the others only to be told of.
    wanted = arguments[:1] if arguments and arguments[0] in COMMANDS else COMMANDS
    commands, lacking = _loaded(wanted)
    if lacking is not None and len(wanted) == 1:
        if wanted[0] == "doctor":
            # Without the issues that no shim heals: those are the host side's.
            from crosswarp.compat.__main__ import main as of_compat

            return of_compat(arguments)
        print(f"crosswarp: {wanted[0]}: {lacking}. {_INSTALL}", file=sys.stderr)
        return 125 if judging else EXIT_USAGE
    if not arguments:
        _parser(commands, lacking is not None).print_help()
        return EXIT_USAGE
    try:
        chosen = _parser(commands, lacking is not None).parse_args(arguments)
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


def parser() -> argparse.ArgumentParser:
    """The whole command line."""
    return _parser({name: load(name) for name in COMMANDS})


def _loaded(names: Sequence[str]) -> tuple[dict[str, Command], ImportError | None]:
    """The commands that can be loaded, and why one cannot: what another distribution holds is not here."""
    found, lacking = {}, None
    for name in names:
        try:
            found[name] = load(name)
        except ImportError as error:
            if (error.name or "").startswith("crosswarp"):
                raise
            lacking = error
    return found, lacking


class _Help(argparse.HelpFormatter):
    """Descriptions are folded; examples stay as they are written, to be copied."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        if text.startswith(_EXAMPLES):
            return text
        return super()._fill_text(text, width, indent)


def _parser(commands: Mapping[str, Command], less: bool = False) -> argparse.ArgumentParser:
    """`less`: of the commands those that are here without the host side's libraries."""
    others = ", ".join(name for name in COMMANDS if name not in (*commands, "doctor"))
    parser = argparse.ArgumentParser(
        prog="crosswarp",
        description="Runs a Triton kernel suite on every Triton x torch pair and says what regressed.",
        epilog=f"This is the small install: it has these, and `doctor`. For {others}: {_INSTALL}"
        if less
        else None,
        formatter_class=_Help,
    )
    parser.add_argument("--version", action="version", version=f"crosswarp {__version__}")
    if not less:
        parser.add_argument(
            "--print-completion", action=_Completion, choices=("bash", "zsh"), metavar="SHELL",
            help='a script that completes commands and options: eval "$(crosswarp --print-completion bash)"',
        )  # fmt: skip
    parsers = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, command in commands.items():
        one = parsers.add_parser(
            name, help=command.HELP, description=command.DESCRIPTION, epilog=_examples(command),
            formatter_class=_Help,
        )  # fmt: skip
        command.add(one)
        _spell_json(one)
    return parser


class _Completion(argparse.Action):
    def __call__(self, parser, namespace, values, option_string=None) -> None:  # type: ignore[no-untyped-def]
        import shtab

        for one in (parser, *_commands_of(parser)):
            for action in one._actions:
                if action.type is Path:
                    action.complete = shtab.FILE  # type: ignore[attr-defined]
        print(shtab.complete(parser, shell=values))
        parser.exit()


def _commands_of(parser: argparse.ArgumentParser) -> list[argparse.ArgumentParser]:
    found = [one for one in parser._actions if isinstance(one, argparse._SubParsersAction)]
    return [command for one in found for command in one.choices.values()]


def _examples(command: Command) -> str:
    return "\n  ".join([_EXAMPLES, *command.EXAMPLES])


def _spell_json(parser: argparse.ArgumentParser) -> None:
    """`--json` for `--format json`, wherever there is one."""
    for action in parser._actions:
        if "--format" in action.option_strings and "json" in (action.choices or ()):
            parser.add_argument(
                "--json", action="store_const", const="json", dest=action.dest,
                default=argparse.SUPPRESS, help="the same as --format json",
            )  # fmt: skip
            return


def _unknown(name: str) -> str:
    close = difflib.get_close_matches(name, COMMANDS, n=3, cutoff=0.5)
    hint = f" Did you mean {' or '.join(close)}?" if close else ""
    return f"there is no command {ascii(name)[:60]}.{hint} `crosswarp --help` lists them."


if __name__ == "__main__":
    sys.exit(main())
