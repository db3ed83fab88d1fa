"""What the options of `crosswarp run` and `crosswarp plan` ask for."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from crosswarp.matrix.facts import columns as columns_module
from crosswarp.matrix.facts import selection
from crosswarp.matrix.facts import targets as targets_module
from crosswarp.matrix.facts.columns import Column
from crosswarp.matrix.facts.targets import Target
from crosswarp.matrix.results.record import MODES
from crosswarp.matrix.running import plan


@dataclass(frozen=True)
class Asked:
    targets: Mapping[str, Target]
    lanes: tuple[str, ...]
    # Of the targets, those that the lane emulate covers; None: all.
    emulated: tuple[str, ...] | None
    modes: tuple[str, ...]
    kernels: tuple[str, ...]
    suite: Path | None


def asked(options: argparse.Namespace) -> Asked:
    table = targets_module.load(options.targets_file or targets_module.DEFAULT_FILE)
    suite = options.suite.resolve() if options.suite else None
    targets = targets_module.choose(
        table, selection.split(options.targets or [targets_module.DEFAULT_PROFILE])
    )
    lanes, emulated = plan.default_lanes(targets)
    if options.lanes:
        lanes, emulated = plan.check_lanes(selection.split(options.lanes)), None
    return Asked(
        targets,
        lanes,
        emulated,
        plan.check_words(selection.split(options.modes or ["*"]), MODES, "mode"),
        plan.check_kernels(selection.split(options.kernels or ["*"]), suite),
        suite,
    )


def columns(options: argparse.Namespace) -> tuple[tuple[Column, ...], list[Column]]:
    """The table, and the columns that were chosen of it."""
    table = columns_module.load(options.columns_file or columns_module.DEFAULT_FILE)
    wanted = selection.split(options.columns or [columns_module.DEFAULT_PROFILE])
    return table, columns_module.choose(table, wanted)


def words(options: argparse.Namespace) -> list[str]:
    """The same selection without its columns, as options with every glob resolved, for other machines."""
    found = asked(options)
    chosen = {
        "targets": (options.targets, found.targets),
        "lanes": (options.lanes, found.lanes),
        "modes": (options.modes, found.modes),
        # All of a suite stay "*": the list would be long, and is the same.
        "kernels": (found.kernels != ("*",), found.kernels),
    }
    told = {name: ",".join(names) for name, (given, names) in chosen.items() if given}
    # As they were written: another machine has its checkout elsewhere.
    for name in ("suite", "main", "nightly_index", "columns_file", "targets_file", "issues_file"):
        if getattr(options, name):
            told[name.replace("_", "-")] = str(getattr(options, name))
    return [word for name, text in told.items() for word in (f"--{name}", text)]
