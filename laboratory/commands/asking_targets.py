"""The options of `crosswarp targets` that have releases compile for each target, and record the answers."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from pathlib import Path

from crosswarp.laboratory.asking import target_probe
from crosswarp.laboratory.pages import targets_page
from crosswarp.matrix.environments import here
from crosswarp.matrix.errors import EXIT_EXPECTED, EXIT_UNEXPECTED, UsageError
from crosswarp.matrix.facts import probed_targets
from crosswarp.matrix.facts.probed_targets import Release
from crosswarp.matrix.facts.targets import Target
from crosswarp.reports.commands import placing
from crosswarp.reports.commands.options import (
    add_files,
    add_triton,
    add_work,
    check_work,
    one_way,
    positive,
)
from crosswarp.reports.text import escape

_DESCRIPTION = (
    "Have environments compile an addition and a dot product for each target, and compare with what is recorded (exit "
    "1 where they differ), or record it."
)


def add_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("asking, for crosswarp's developers", _DESCRIPTION)
    group.add_argument(
        "--probe", action="store_true", help="ask compilers: those of --here or of --triton"
    )
    group.add_argument(
        "--here", type=Path, action="append", metavar="PYTHON", help="with --probe; may be repeated"
    )
    add_triton(group, "with --probe: build these environments, 3.6.0,3.9.0 or all")
    group.add_argument("--write", action="store_true", help="with --probe: record what was found")
    group.add_argument(
        "--time-limit", type=positive, default=60, metavar="S", help="for one kernel (60)"
    )
    add_work(group)
    add_files(group, "columns", "probed")


def wanted(options: argparse.Namespace) -> bool:
    """Whether compilers are to be asked. Raises UsageError for its options without it."""
    if not options.probe and (options.here or options.columns or options.write):
        raise UsageError("--here, --triton and --write are about asking: add --probe.")
    return bool(options.probe)


def run(options: argparse.Namespace, table: Mapping[str, Target]) -> int:
    path = options.probed_file or probed_targets.DEFAULT_FILE
    recorded = probed_targets.load(path)
    releases: dict[str, Release] = {}
    for python in _pythons(options):
        version, release = target_probe.ask(
            python, table, options.time_limit, here=bool(options.here)
        )
        releases[version] = release
        works = sum(target.works for target in release.targets.values())
        print(f"{escape.line(version)}: compiles for {works} of {len(release.targets)}")
        if options.write:
            # At once: the next may fail.
            recorded = probed_targets.merged(recorded, version, release)
            probed_targets.write(path, recorded)
    if options.write:
        print(f"{escape.terminal(str(path))}: {len(recorded)} releases")
        return EXIT_EXPECTED
    print(escape.terminal(targets_page.terminal(releases, table)))
    differs = list(_differences(recorded, releases))
    if differs:
        print("\n".join([*differs, "Not as recorded. If that is right: --write."]))
    return EXIT_UNEXPECTED if differs else EXIT_EXPECTED


def _differences(recorded: Mapping[str, Release], read: Mapping[str, Release]) -> Iterator[str]:
    for version, release in read.items():
        before = recorded[version].targets if version in recorded else {}
        for name, probed in release.targets.items():
            if name in before and before[name] != probed:
                for kernel, now in probed.model_dump().items():
                    was = before[name].model_dump()[kernel]
                    if was != now:
                        change = " -> ".join(
                            escape.line(failure or "compiles", 100) for failure in (was, now)
                        )
                        yield f"{escape.line(version)} {name}: {kernel}: {change}"


def _pythons(options: argparse.Namespace) -> list[Path]:
    one_way(options)
    if options.here:
        return [here.look(python).python for python in options.here]
    if not options.columns:
        raise UsageError("--probe: name the environments, with --here PYTHON or --triton.")
    check_work(options.work)
    prepare = placing.builder(options, print)
    return [prepare(column).python for column in placing.chosen(options)]
