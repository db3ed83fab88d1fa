"""The command line.

Exit status: 0 as expected: every failure is a known issue, and passes with compat wherever its entry names a shim; 1
something fails or passes unexpectedly (diff: something breaks; doctor: a known issue is not fixed; issues: an entry is
contradicted; why: no known cause matches; docs --check: a page is old, or a record cannot be right; blame: no answer;
bisect --here: bad, and 125 when it cannot say); 2 usage (doctor: or there is no Triton; bisect, blame: or an end is not
as good or bad as stated); 3 an environment could not be built; 4 the store failed; 70 a bug in crosswarp, whose
traceback is in the file that the message names; 130 cancelled.
"""

from __future__ import annotations

import argparse
import errno
import gc
import io
import os
import stat
import sys
import textwrap
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol, cast

from crosswarp.matrix.errors import EXIT_INTERNAL, EXIT_USAGE, CrosswarpError, UsageError
from crosswarp.reports.text import escape

_INSTALL = (
    'Install it: pip install "crosswarp[matrix]" on Python 3.11 or newer, or run it once: '
    'uvx --from "crosswarp[matrix]" crosswarp ...'
)
# Commands that need no library of the host side; on a file with settings they need pydantic.
_OF_SMALL = ("why", "check", "doctor", "lint", "diff", "issues")
_HERE = (
    f". The small install has {', '.join(_OF_SMALL)}; on Python 3.9 there is "
    "python -m crosswarp.compat doctor"
)
_EXAMPLES = "examples:"
# zero, full, random and urandom of Linux.
_ENDLESS = tuple(os.makedev(1, minor) for minor in (5, 7, 8, 9))
# Errors of a path that are not bugs of crosswarp.
_OF_THE_PLACE = (
    errno.ENAMETOOLONG, errno.EACCES, errno.EPERM, errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.ENOTDIR,
    errno.EISDIR, errno.ELOOP, errno.EMFILE, errno.ENFILE,
)  # fmt: skip
# Commands of crosswarp.laboratory that need more than the extra "matrix".
_EXTRAS = {"docs": "site", "fuzz": "fuzz"}

# The commands in `crosswarp --help`. The list is here because loading every command takes as long as most of them run.
# Each is a module of `commands` in its package.
GROUPS: Mapping[str, Mapping[str, str]] = {
    "every day": {
        "why": "say what an error comes from, and what to do",
        "check": "compile the kernels of any file, for every target you name",
        "doctor": "say what is installed here, what compat fixes, and what to do",
        "lint": "find what a library takes from Triton that some releases lack",
        "diff": "compare two releases, runs or baselines",
        "issues": "list the known issues, and whether a run shows them",
        "language": "say what triton.language holds in each release",
    },
    "test a library or a suite": {
        "init": "write settings for testing your library",
        "test": "run your library's own GPU tests on every Triton",
        "run": "run the matrix: kernels on every Triton and target",
        "inductor": "compile the kernels that torch.compile writes, on any Triton",
        "guards": "say which version checks of a library are still needed",
    },
    "look at a run": {
        "report": "show a stored run as a table, web pages, JSON, JUnit XML or CSV",
        "range": "print the releases on which a suite passes",
        "reproduce": "write a failing cell as one script",
        "bisect": "find the first bad release for one kernel",
        "blame": "say which of Triton, torch, numpy or Python brought a regression",
        "runs": "list the stored runs",
        "prune": "remove old runs from the store",
    },
    "in CI": {
        "plan": "print the jobs of a run",
        "merge": "merge the runs of several machines into one",
        "baseline": "write a run as a file to compare with",
        "github": "comment on a pull request, and open issues",
        "badge": "write badges of a stored run",
        "vendor": "copy fixes into your own package",
    },
    "keep crosswarp's own tables": {
        "columns": "list the columns",
        "targets": "list the targets, and which release compiles for them",
        "update": "propose columns for new releases",
    },
}  # fmt: skip
# Those of crosswarp.laboratory: a wheel does not hold it, and nothing below imports it.
_OF_LABORATORY: Mapping[str, str] = {
    "docs": "write the pages that are made from data",
    "fuzz": "run generated programs on every Triton",
    "libraries": "run the ops of published libraries",
}
if find_spec("crosswarp.laboratory"):
    GROUPS = {**GROUPS, "for crosswarp's developers": _OF_LABORATORY}
COMMANDS = tuple(name for group in GROUPS.values() for name in group)


class Command(Protocol):
    """The face of the module of one command."""

    DESCRIPTION: str
    # Command lines to copy, shown below its options.
    EXAMPLES: Sequence[str]

    def add(self, parser: argparse.ArgumentParser) -> None:
        """Adds its options."""

    def run(self, options: argparse.Namespace, argv: Sequence[str]) -> int:
        """Does it, and gives the exit status; `argv` is the whole command line, for the record."""


class _Version(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        print(f"crosswarp {_version()}")
        parser.exit()


def _version() -> str:
    # `crosswarp why` does not need compat, which takes a third of its time to import.
    from crosswarp.compat import __version__

    return __version__


def main(argv: Sequence[str] | None = None) -> int:
    for stream in (sys.stdout, sys.stderr):
        # A file name need not be text, and a terminal need not be UTF-8: replace what cannot be shown.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    # Tens of thousands of records stay in memory: scanning them for garbage takes as long as reading them.
    gc.set_threshold(1_000_000, 50, 50)
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        return _main(arguments)
    except Exception as error:
        print(f"crosswarp: {internal_error(error)}", file=sys.stderr)
        return 125 if _judging(arguments) else EXIT_INTERNAL
    finally:
        if argv is None:
            # The process ends, and Python would look through them once more.
            gc.freeze()


def internal_error(error: Exception) -> str:
    """One line about an unexpected exception; its traceback goes to a file that the line names."""
    # Imported where they are needed: `crosswarp why` answers within a third of a second.
    import tempfile
    import traceback

    where = traceback.extract_tb(error.__traceback__)[-1]
    text = escape.line(f"{type(error).__name__}: {error}", 200)
    place = f"{Path(where.filename).name}:{where.lineno}"
    try:
        handle, name = tempfile.mkstemp(prefix="crosswarp-error-", suffix=".log")
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as log:
            log.write(f"crosswarp {_version()}, Python {sys.version}\n{sys.argv!r}\n")
            traceback.print_exception(error, file=log)
    except OSError as failed:
        name = f"nowhere ({failed.strerror})"
    return f"internal error at {place}: {text}. Report it as a bug of crosswarp, with this file: {name}"


def _judging(arguments: Sequence[str]) -> bool:
    """Whether `git bisect run` waits for a verdict: it takes exit status 2 for one, and a mistyped option is not."""
    return arguments[:1] == ["bisect"] and any(
        argument.startswith("--here") for argument in arguments
    )


def _main(arguments: list[str]) -> int:
    judging = _judging(arguments)
    if arguments and not arguments[0].startswith("-") and arguments[0] not in COMMANDS:
        print(f"crosswarp: {_unknown(arguments[0])}", file=sys.stderr)
        return EXIT_USAGE
    if not arguments or arguments[0] in ("-h", "--help"):
        print(_overview(), end="")
        return 0 if arguments else EXIT_USAGE
    # Only the requested command is loaded; the others only for shell completion.
    wanted = COMMANDS if arguments[0].startswith("--print") else arguments[:1]
    try:
        if wanted[0] in COMMANDS and not _runs_here(wanted[0]):
            # Not every command imports it before it runs.
            raise ModuleNotFoundError("No module named 'pydantic'", name="pydantic")
        commands = {name: load(name) for name in wanted if name in COMMANDS}
    except ImportError as error:
        if (error.name or "").startswith("crosswarp"):
            raise
        if wanted == ["doctor"]:
            # Without the issues that no shim fixes: those belong to the host side.
            from crosswarp.compat.__main__ import main as of_compat

            return of_compat(arguments)
        name = wanted[0] if len(wanted) == 1 else "crosswarp"
        print(_lacking(error, name), file=sys.stderr)
        return 125 if judging else EXIT_USAGE
    try:
        parser = _parser(commands)
        chosen, unknown = parser.parse_known_args(arguments)
        if unknown:
            parser.error(f"unrecognized arguments: {' '.join(unknown)}{_closest(parser, unknown)}")
    except SystemExit as stopped:
        if judging and stopped.code:
            return 125
        raise
    try:
        _check_paths(chosen)
        return commands[chosen.command].run(chosen, arguments)
    except CrosswarpError as error:
        sys.stdout.flush()
        print(f"crosswarp: {escape.terminal(str(error))}", file=sys.stderr)
        return error.exit_code
    except ModuleNotFoundError as error:
        if not _small() or (error.name or "").startswith("crosswarp"):
            raise
        # Of a command that the small install has: a file or option of which only the whole install knows.
        print(_lacking(error, arguments[0]), file=sys.stderr)
        return EXIT_USAGE
    except KeyboardInterrupt:
        print("crosswarp: cancelled", file=sys.stderr)
        return 130
    except RecursionError:
        print(
            "crosswarp: what was given is nested too deeply to be read. Write it with fewer levels.",
            file=sys.stderr,
        )
        return 125 if judging else EXIT_USAGE
    except BrokenPipeError:
        # `crosswarp report | head`: the reader has gone, which is not an error.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 125 if judging else 0
    except OSError as error:
        if error.errno not in _OF_THE_PLACE:
            raise
        print(f"crosswarp: {escape.terminal(_of_the_place(error))}", file=sys.stderr)
        return EXIT_USAGE


def _of_the_place(error: OSError) -> str:
    """Returns the advice for a file that cannot be read or written."""
    name = str(error.filename or "a file")
    if error.errno == errno.ENOSPC and _out_of_inodes(name):
        return f"{name[:200]}: the file system is out of inodes: no file can be made. Remove some, and try again."
    return (
        f"{name[:200]}: {error.strerror}. Name another place, or make room and give rights there."
    )


def _out_of_inodes(name: str) -> bool:
    for folder in (Path(name), *Path(name).absolute().parents):
        try:
            stats = os.statvfs(folder)
        except OSError:
            continue
        return stats.f_files > 0 and stats.f_favail == 0
    return False


def _check_paths(options: argparse.Namespace) -> None:
    """Raises UsageError for a path that no file can have."""
    for name, value in vars(options).items():
        for path in value if isinstance(value, (list, tuple)) else (value,):
            if not isinstance(path, Path):
                continue
            try:
                path.lstat()
                mode = path.stat().st_mode
                if stat.S_ISBLK(mode) or stat.S_ISCHR(mode) and path.stat().st_rdev in _ENDLESS:
                    raise OSError(errno.EINVAL, "a device, which has no end")
            except (FileNotFoundError, NotADirectoryError, PermissionError):
                pass
            except (OSError, ValueError) as error:
                why = (error.strerror if isinstance(error, OSError) else None) or str(error)
                raise UsageError(
                    f"--{name.replace('_', '-')}: {str(path):.60}: {why}. Name a path that a file can have."
                ) from None


def load(name: str) -> Command:
    """Raises ImportError where a library of the host side is missing."""
    package = "laboratory" if name in _OF_LABORATORY else "reports"
    return cast(Command, import_module(f"crosswarp.{package}.commands.{name}"))


def parser() -> argparse.ArgumentParser:
    """The whole command line."""
    return _parser({name: load(name) for name in COMMANDS})


def _small() -> bool:
    """Whether this is the small install, which has the library and no host side."""
    return find_spec("pydantic") is None


def _runs_here(command: str) -> bool:
    """Whether this install has the command. `doctor` of the small install is compat's."""
    if command == "why" or not _small():
        return True
    return command in _OF_SMALL and command != "doctor" and sys.version_info >= (3, 11)


def _lacking(error: ImportError, name: str) -> str:
    needs = f"crosswarp: {name} needs {error.name or error} here. {_install(name)}"
    return needs + (_HERE if _small() else "")


def _overview() -> str:
    """Returns the text of `crosswarp --help`."""
    lines = [
        "usage: crosswarp COMMAND [options]", "",
        "Runs Triton kernels on every release of Triton and says what breaks.",
        "`crosswarp COMMAND --help` shows the options of a command, with examples.",
    ]  # fmt: skip
    if _small():
        here = {name: GROUPS["every day"][name] for name in _OF_SMALL}
        groups: Mapping[str, Mapping[str, str]] = {"the small install has": here}
    else:
        groups = GROUPS
    for title, commands in groups.items():
        lines += ["", f"{title}:", *(f"  {name:<11}{text}" for name, text in commands.items())]
    lines += [
        "", "options:", "  --help     show this", "  --version  show the version",
    ]  # fmt: skip
    if _small():
        others = ", ".join(name for name in COMMANDS if name not in _OF_SMALL)
        text = f"This is the small install: it has these. For {others}: {_INSTALL}{_HERE}"
        lines += ["", *textwrap.wrap(text, 80)]
    else:
        lines += ["  --print-completion {bash,zsh}"]
        lines += ["             print a script that completes commands and options in your shell:"]
        lines += ['             eval "$(crosswarp --print-completion bash)"']
    return "\n".join(lines) + "\n"


def _install(command: str) -> str:
    if command not in _OF_LABORATORY:
        return _INSTALL
    extra = _EXTRAS.get(command, "matrix")
    return f'In a checkout of crosswarp, install it: pip install -e ".[{extra}]"'


class _Help(argparse.HelpFormatter):
    """Descriptions are folded; examples keep their lines, to be copied."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        if text.startswith(_EXAMPLES):
            return text
        return super()._fill_text(text, width, indent)


def _parser(commands: Mapping[str, Command]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="crosswarp", formatter_class=_Help)
    parser.add_argument("--version", action=_Version, nargs=0)
    parser.add_argument(
        "--print-completion", action=_Completion, choices=("bash", "zsh"), metavar="SHELL",
        help='a script that completes commands and options: eval "$(crosswarp --print-completion bash)"',
    )  # fmt: skip
    parsers = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    summaries = {name: text for group in GROUPS.values() for name, text in group.items()}
    for name, command in commands.items():
        subparser = parsers.add_parser(
            name, help=summaries[name], description=command.DESCRIPTION, epilog=_examples(command),
            formatter_class=_Help,
        )  # fmt: skip
        command.add(subparser)
        _spell_json(subparser)
    return parser


class _Completion(argparse.Action):
    def __call__(self, parser, namespace, values, option_string=None) -> None:  # type: ignore[no-untyped-def]
        import shtab

        for each in (parser, *_commands_of(parser)):
            for action in each._actions:
                if action.type is Path:
                    action.complete = shtab.FILE  # type: ignore[attr-defined]
        print(shtab.complete(parser, shell=values))
        parser.exit()


def _commands_of(parser: argparse.ArgumentParser) -> list[argparse.ArgumentParser]:
    subparsers = [
        action for action in parser._actions if isinstance(action, argparse._SubParsersAction)
    ]
    return [command for action in subparsers for command in action.choices.values()]


def _examples(command: Command) -> str:
    folded = (
        " \\\n      ".join(textwrap.wrap(line, 72, break_long_words=False, break_on_hyphens=False))
        for line in command.EXAMPLES
    )
    return "\n  ".join([_EXAMPLES, *folded])


def _spell_json(parser: argparse.ArgumentParser) -> None:
    """Turns `--json` into `--format json` in every command that has it."""
    for action in parser._actions:
        if "--format" in action.option_strings and "json" in (action.choices or ()):
            parser.add_argument(
                "--json", action="store_const", const="json", dest=action.dest,
                default=argparse.SUPPRESS, help="the same as --format json",
            )  # fmt: skip
            return


def _closest(parser: argparse.ArgumentParser, unknown: Sequence[str]) -> str:
    """Asks whether an option was meant that is spelled almost like the unknown one; empty where none is."""
    import difflib

    options = [name for command in _commands_of(parser) for name in command._option_string_actions]
    close = difflib.get_close_matches(unknown[0].partition("=")[0], options, n=2, cutoff=0.7)
    return f". Did you mean {' or '.join(close)}?" if close else ""


def _unknown(name: str) -> str:
    if name in _OF_LABORATORY:
        return f"{name} is for crosswarp's developers, and is not installed. {_install(name)}"
    import difflib

    close = difflib.get_close_matches(name, COMMANDS, n=3, cutoff=0.5)
    hint = f" Did you mean {' or '.join(close)}?" if close else ""
    return f"there is no command {ascii(name)[:60]}.{hint} `crosswarp --help` lists them."


if __name__ == "__main__":
    sys.exit(main())
