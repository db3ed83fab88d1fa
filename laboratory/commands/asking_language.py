"""The options of `crosswarp language` that ask columns what their `triton.language` holds, and keep it in the table."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence

from crosswarp.laboratory.asking import language_probes
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
from crosswarp.reports.commands import placing
from crosswarp.reports.commands.language import check_names, shown
from crosswarp.reports.commands.options import (
    add_files,
    add_here,
    add_numbers,
    add_triton,
    add_work,
    check_work,
    column_table,
)
from crosswarp.reports.text import escape

_DESCRIPTION = (
    "Find every public name in columns, probe it, and compare with the table. Exit status: 0 as the table says, or "
    "written; 1 it differs, or a column could not be asked."
)
# The most differences shown; --write and `git diff` show all.
_SHOWN = 40


def add_options(parser: argparse.ArgumentParser) -> None:
    does = parser.add_mutually_exclusive_group()
    does.add_argument("--write", action="store_true", help="put what was found into the table")
    add_here(does, "ask this interpreter (or the one named), and show it beside the table")
    group = parser.add_argument_group("asking, for crosswarp's developers", _DESCRIPTION)
    add_triton(
        group,
        "ask these, and compare with the table (with --write by default: every published pair)",
    )
    add_numbers(
        group,
        ("time-limit", 60, "S", "for one probe (60)"),
        ("memory-limit", 6000, "MB", "for one probe (6000)"),
        ("column-limit", 3600, "S", "for one lane of a column (3600)"),
        ("jobs", None, "N", "lanes of columns at a time (default: the CPUs of this machine)"),
    )
    add_work(group)
    add_files(group, "columns")


def wanted(options: argparse.Namespace) -> bool:
    """Whether columns are to be asked: each takes an environment, gigabytes, so only on request."""
    return bool(options.columns or options.write or options.here)


def run(options: argparse.Namespace, globs: Sequence[str]) -> int:
    path = options.language_file or language_table.DEFAULT_FILE
    old = language_table.load(path) if path.exists() or not options.write else {}
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
        check_names({**old, **releases}, globs)
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
