"""`crosswarp language`: ask columns what their `triton.language` holds, compare with the table, or write it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from crosswarp.compat import __version__
from crosswarp.matrix import versions
from crosswarp.matrix.environments import here
from crosswarp.matrix.errors import (
    EXIT_ENVIRONMENT,
    EXIT_EXPECTED,
    EXIT_UNEXPECTED,
    EnvironmentFailed,
    UsageError,
)
from crosswarp.matrix.facts import columns, language_table, selection
from crosswarp.matrix.facts.columns import Column
from crosswarp.matrix.facts.language_table import Release, Table
from crosswarp.matrix.running import plan
from crosswarp.matrix.running.progress import progress
from crosswarp.matrix.running.run import Prepare
from crosswarp.matrix.work import language_probes
from crosswarp.reports.commands import placing
from crosswarp.reports.commands.options import (
    add_files,
    add_here,
    add_numbers,
    add_triton,
    add_work,
    check_work,
    column_table,
)
from crosswarp.reports.findings import language_view
from crosswarp.reports.text import escape
from crosswarp.reports.text.layout import WIDTH, fill, side_by_side
from crosswarp.reports.text.table import short

# Eleven releases of three letters beside it fill a terminal of 80.
_LONGEST_NAME = 36
DESCRIPTION = (
    "Show what triton.language holds in each release: names and options, whether they compile, and whether the "
    "interpreter is right (docs/language.md). With --ask or --triton, find every public name in those columns, probe "
    "it, and compare with the table. Exit status: 0 as the table says, shown, or written; 1 it differs, or a column "
    "could not be asked."
)
EXAMPLES = (
    "crosswarp language 'tl.dot*'",
    "crosswarp language tl.load --triton 3.9.0",
)
_WHAT_IT_IS = f"The table of crosswarp {__version__}, as it was measured. To ask anew: crosswarp language --ask"
# The most differences shown; --write and `git diff` show all.
_SHOWN = 40


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "names", nargs="*", metavar="NAME",
        help="only these, such as tl.load or 'tl.atomic_*', tensor.sum, libdevice.tanh, launch.num_warps",
    )  # fmt: skip
    add_triton(parser, "ask these (with --ask or --write, by default: every published pair)")
    does = parser.add_mutually_exclusive_group()
    does.add_argument("--write", action="store_true", help="put what was found into the table")
    does.add_argument(
        "--ask", action="store_true", help="ask every published column, or --triton, and compare with the table"
    )  # fmt: skip
    does.add_argument("--no-run", action="store_true", help="run nothing: show what the table says")
    add_here(does, "ask this interpreter (or the one named), and show it beside the table")
    add_numbers(
        parser,
        ("time-limit", 60, "S", "for one probe (60)"),
        ("memory-limit", 6000, "MB", "for one probe (6000)"),
        ("column-limit", 3600, "S", "for one lane of a column (3600)"),
        ("jobs", None, "N", "lanes of columns at a time (default: the CPUs of this machine)"),
    )
    add_work(parser)
    add_files(parser, "columns")
    parser.add_argument(
        "--language-file", type=Path, metavar="JSON", help="instead of crosswarp's language.json"
    )


def run(options: argparse.Namespace, argv: Sequence[str]) -> int:
    path = options.language_file or language_table.DEFAULT_FILE
    globs = selection.split(options.names) if options.names else ["*"]
    old = language_table.load(path) if path.exists() or not options.write else {}
    # Asking builds an environment a column, gigabytes: only on request.
    asking = options.columns or options.ask or options.write or options.here
    if options.no_run or not asking:
        if not (options.no_run or options.language_file):
            print(_WHAT_IT_IS, file=sys.stderr)
        print(shown(old, globs))
        return EXIT_EXPECTED
    check_work(options.work)
    releases: dict[str, Release] = {}
    with progress() as bar:
        asker, listed = _asker(options, globs, bar.say)
        if options.write:
            language_table.check_part(old, [versions.of_column(one.id) for one in listed], globs)
        for name, release in asker(listed):
            version = versions.of_column(name) or name
            if options.here:
                version = f"here ({version})"
            releases[version] = release
            if options.write:
                # Merged at once: a column takes minutes, and the next may be cancelled.
                old = language_table.merged(old, version, release, globs)
                language_table.write(path, old)
    for error in asker.failed.values():
        print(escape.terminal(f"{error}"))
    if releases:
        _check_names({**old, **releases}, globs)
    if options.here:
        print(shown({**old, **releases}, globs))
    elif options.write:
        print(
            f"{escape.terminal(str(path))}: {len(old)} releases, {len(releases)} of them asked now"
        )
    elif report := _compared(old, releases, globs):
        print(report)
        return _code(asker.failed) or EXIT_UNEXPECTED
    elif releases:
        print(f"As the table says: {', '.join(releases)}.")
    return _code(asker.failed)


def _code(failed: Mapping[str, Exception]) -> int:
    if any(isinstance(error, EnvironmentFailed) for error in failed.values()):
        return EXIT_ENVIRONMENT
    return EXIT_UNEXPECTED if failed else EXIT_EXPECTED


def _asker(
    options: argparse.Namespace, globs: Sequence[str], say: Callable[[str], None]
) -> tuple[language_probes.Asker, Sequence[Column]]:
    prepare: Prepare
    if options.here:
        prepare = here.look(options.here)
        listed = [prepare.column]
    else:
        table = column_table(options)
        listed = _columns(table, options.columns)
        prepare = placing.builder(options, say)
    limits = {"time_limit": options.time_limit, "memory_limit_mb": options.memory_limit}
    asker = language_probes.Asker(
        prepare, options.work, globs, limits, options.jobs or plan.default_jobs(),
        options.column_limit, say, here=bool(options.here),
    )  # fmt: skip
    return asker, listed


def _columns(table: Sequence[Column], wanted: Sequence[str] | None) -> list[Column]:
    published = [column for column in table if column.triton and column.official]
    if not wanted:
        return published
    chosen = columns.choose(table, selection.split(wanted))
    others = [column.id for column in chosen if column not in published]
    # `all` is a profile that holds main.
    if others and not set(others) <= {"main"}:
        raise UsageError(
            f"{', '.join(others)}: the table is of published releases with their own torch. Name those, or use --here."
        )
    available = [column for column in chosen if column in published]
    if not available:
        raise UsageError("main is no published release. Name some, or use --here PYTHON.")
    return available


def _compared(old: Table, found: Mapping[str, Release], globs: Sequence[str]) -> str:
    lines = []
    for version, release in found.items():
        before = old.get(version)
        if before is None:
            lines.append(f"{version} is not in the table. Add it: crosswarp language --write.")
            continue
        for difference in language_table.differences(before, release, globs):
            where = f"{version} {difference.place}".strip()
            lines.append(
                escape.line(
                    f"{where}: {difference.what}: {difference.before} -> {difference.now}", 240
                )
            )
    if len(lines) > _SHOWN:
        lines[_SHOWN:] = [f"and {len(lines) - _SHOWN} more"]
    if lines:
        lines.append("Not as the table says. If that is right: crosswarp language --write.")
    return "\n".join(lines)


def shown(table: Table, globs: Sequence[str]) -> str:
    """The rows of some names as a table for a terminal."""
    _check_names(table, globs)
    names = sorted({name for release in table.values() for name in release.names})
    rows = [
        (
            escape.line(f"⋅ {row.label}" if row.option else row.label, WIDTH),
            [square.sign for square in row.squares],
        )
        for name in names
        if language_table.chosen(name, globs)
        for row in language_view.rows_of(table, name)
    ]
    lines = side_by_side("Triton", short(list(table)), rows, _LONGEST_NAME, gap=1)
    seen = {sign for _, signs in rows for sign in signs}
    meanings = [
        fill(f"{sign:<3}", text)
        for sign, text in language_view.SIGNS
        # N and A come before the interpreter's sign as well.
        if sign and (sign in seen or sign in "NA" and any(one[:1] == sign for one in seen))
    ]
    return "\n".join([*lines[1:], "", *meanings])


def _check_names(table: Table, globs: Sequence[str]) -> None:
    """Raises UsageError for what names nothing: nothing asked would look like all is well."""
    for glob in globs:
        if not any(fnmatchcase(name, glob) for one in table.values() for name in one.names):
            raise UsageError(
                f"no release has a name like {glob}. Names are spelled tl.load, tensor.sum, libdevice.tanh, "
                "launch.num_warps; * stands for anything."
            )
