"""The plan that the options of `crosswarp run` and `crosswarp plan` ask for."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from crosswarp.matrix.environments import here
from crosswarp.matrix.environments.here import Here
from crosswarp.matrix.errors import UsageError
from crosswarp.matrix.facts import columns, named_runs, repeats, selection, targets
from crosswarp.matrix.facts.columns import Column
from crosswarp.matrix.facts.repeats import Repeats
from crosswarp.matrix.facts.targets import Target
from crosswarp.matrix.results.record import MODES
from crosswarp.matrix.running import plan
from crosswarp.matrix.work import suite_modules
from crosswarp.reports.commands.options import column_table, target_table


@dataclass(frozen=True)
class Asked:
    targets: Mapping[str, Target]
    lanes: tuple[str, ...]
    # The targets that the lane emulate covers; None: all.
    emulated: tuple[str, ...] | None
    modes: tuple[str, ...]
    kernels: tuple[str, ...]
    cases: tuple[str, ...]
    suite: Path | None
    sanitize: bool = False
    # How many programs of each launch the lane emulate executes; None: all.
    sample: int | None = None
    # Whether that lane estimates how long each launch takes.
    estimate: bool = False
    # Whether it computes a row alone and in a batch as well.
    batch: bool = False
    # The numbers of warps with which it launches each case again.
    warps: tuple[int, ...] = ()
    # The cells of crosswarp's own kernels that repeat a cheaper one, where they do not run.
    left_out: Repeats = field(default_factory=dict)

    @property
    def emulates(self) -> bool:
        """Whether something was asked of the lane emulate alone."""
        return bool(self.sanitize or self.sample or self.estimate or self.batch or self.warps)


def asked(options: argparse.Namespace) -> Asked:
    _quick(options)
    table = target_table(options)
    suite = options.suite.resolve() if options.suite else None
    named = selection.split(options.targets or [targets.DEFAULT_PROFILE])
    on = targets.choose(table, named)
    lanes, emulated = plan.default_lanes(on)
    if options.lanes:
        lanes, emulated = plan.check_lanes(selection.split(options.lanes)), None
    asks = ("sanitize", "sample", "estimate", "batch", "warps")
    looking = next((f"--{name}" for name in asks if getattr(options, name)), "")
    if options.sanitize and options.sample:
        raise UsageError(
            "--sample leaves programs out, which the sanitizer has to see. Leave out one of them."
        )
    if options.sample and options.warps:
        raise UsageError("--sample compares no numbers, and --warps does. Leave out one of them.")
    if looking:
        if not options.lanes:
            # Targets that were named are all looked at.
            lanes, emulated = ("emulate",), None if options.targets else emulated
        elif "emulate" not in lanes:
            raise UsageError(
                f"{looking} is of the lane emulate. Add it to --lanes, or leave --lanes out."
            )
    return Asked(
        on,
        lanes,
        emulated,
        plan.check_words(selection.split(options.modes or ["*"]), MODES, "mode"),
        suite_modules.check_kernels(selection.split(options.kernels or ["*"]), suite),
        # Which cases there are is known inside a cell.
        tuple(selection.split(options.cases or ["*"])),
        suite,
        options.sanitize,
        options.sample,
        options.estimate,
        options.batch,
        tuple(options.warps or ()),
        {} if _whole(options, looking) else repeats.load(),
    )


def _whole(options: argparse.Namespace, looking: str) -> bool:
    """Whether every case runs of what was asked for: where anything was, and of a suite of the user's."""
    named = options.targets or options.lanes or options.kernels or options.cases
    return bool(options.all_cases or options.suite or named or looking)


def _quick(options: argparse.Namespace) -> None:
    """Fills in what --quick stands for, where nothing was asked."""
    if not options.quick:
        return
    if options.suite:
        raise UsageError(
            "--quick is a part of crosswarp's own suite. Leave out --suite, or --quick."
        )
    for name, globs in named_runs.load()[named_runs.QUICK].model_dump().items():
        # The interpreter of `--here` is a separate column.
        if getattr(options, name) is None and not (
            name == "columns" and getattr(options, "here", None)
        ):
            setattr(options, name, list(globs))


def chosen_columns(options: argparse.Namespace) -> tuple[tuple[Column, ...], list[Column]]:
    """The table, and the columns that were chosen of it."""
    _quick(options)
    table = column_table(options)
    wanted = selection.split(options.columns or [columns.DEFAULT_PROFILE])
    return table, columns.choose(table, wanted)


def at_hand(options: argparse.Namespace, tests: bool = False) -> Here:
    """Returns the environments of --here. Raises UsageError where columns are named as well."""
    if options.columns:
        raise UsageError("--here runs one column, this interpreter. Leave out --triton.")
    return here.look(options.here, tests)


def words(options: argparse.Namespace) -> list[str]:
    """The same selection without its columns, as options with every glob resolved, for other machines."""
    wanted = asked(options)
    chosen = {
        "targets": (options.targets, wanted.targets),
        "lanes": (options.lanes or wanted.emulates, wanted.lanes),
        "modes": (options.modes, wanted.modes),
        # All of a suite stay "*": the list would be long, and is the same.
        "kernels": (wanted.kernels != ("*",), wanted.kernels),
        "cases": (options.cases, wanted.cases),
    }
    texts = {name: ",".join(names) for name, (given, names) in chosen.items() if given}
    # As they were written: another machine has its checkout elsewhere.
    for name in ("suite", "main", "nightly_index", "columns_file", "targets_file", "issues_file"):
        if getattr(options, name):
            texts[name.replace("_", "-")] = str(getattr(options, name))
    flags = [f"--{name}" for name in ("sanitize", "estimate", "batch") if getattr(wanted, name)]
    flags += ["--all-cases"] if options.all_cases else []
    flags += ["--sample", str(wanted.sample)] if wanted.sample else []
    flags += ["--warps", ",".join(map(str, wanted.warps))] if wanted.warps else []
    # The settings are in the other machine's checkout as well.
    flags += [word for glob in getattr(options, "xfail", ()) for word in ("--xfail", glob)]
    for name in ("baseline", "fail_on"):
        if getattr(options, name, None):
            flags += [f"--{name.replace('_', '-')}", str(getattr(options, name))]
    return flags + [word for name, text in texts.items() for word in (f"--{name}", text)]
