"""`crosswarp targets`: what there is to choose from, of GPUs, and which release compiles for them."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from crosswarp.matrix.environments import here
from crosswarp.matrix.errors import EXIT_EXPECTED, EXIT_UNEXPECTED, UsageError
from crosswarp.matrix.facts import probed_targets, selection, targets
from crosswarp.matrix.facts.probed_targets import Release
from crosswarp.matrix.facts.targets import Target
from crosswarp.matrix.work import target_probe
from crosswarp.reports.commands import placing
from crosswarp.reports.commands.options import (
    add_files,
    add_globs,
    add_triton,
    add_work,
    check_work,
    one_way,
    positive,
    target_table,
)
from crosswarp.reports.text import escape, targets_page
from crosswarp.reports.text.layout import tight

DESCRIPTION = (
    "List the targets. With --probe: have environments compile an addition and a dot product for each, and compare "
    "with what is recorded (exit 1 where they differ), or record it."
)
EXAMPLES = (
    "crosswarp targets",
    "crosswarp targets --probe --here python --targets sm_90",
)
HEADS = ("target", "triton", "warp", "threads", "shared", "products")

# Width of the column of product names, so that a line has 80.
_PRODUCTS = 26


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--probe", action="store_true", help="ask compilers: those of --here or of --triton"
    )
    parser.add_argument(
        "--here", type=Path, action="append", metavar="PYTHON", help="with --probe; may be repeated"
    )
    add_triton(parser, "with --probe: build these environments, 3.6.0,3.9.0 or all")
    add_globs(parser, ("targets", "these alone (default: all)"))
    parser.add_argument("--write", action="store_true", help="with --probe: record what was found")
    parser.add_argument(
        "--time-limit", type=positive, default=60, metavar="S", help="for one kernel (60)"
    )
    add_work(parser)
    add_files(parser, "columns", "targets", "probed")


def run(options: argparse.Namespace, argv: Sequence[str]) -> int:
    table = target_table(options)
    if options.targets:
        table = targets.choose(table, selection.split(options.targets))
    if options.probe:
        return _probe(options, table)
    if options.here or options.columns or options.write:
        raise UsageError("--here, --triton and --write are about asking: add --probe.")
    rows: list[list[str]] = []
    for name, t in table.items():
        limits = (t.warp_size, t.max_threads_per_block, t.shared_memory_optin)
        first, *others = textwrap.wrap(", ".join(t.names) or t.product or "-", _PRODUCTS)
        rows += [
            [name, t.triton or "all", *map(str, limits), first],
            *([*[""] * (len(HEADS) - 1), other] for other in others),
        ]
    print(escape.terminal(tight(HEADS, rows, left=len(HEADS))))
    return EXIT_EXPECTED


def _probe(options: argparse.Namespace, table: Mapping[str, Target]) -> int:
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
