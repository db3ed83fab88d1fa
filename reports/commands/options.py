"""Options that several commands share."""

from __future__ import annotations

import argparse
import os
from pathlib import Path


def what(parser: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    group = parser.add_argument_group("what to run (globs, comma-separated)")
    for name, meaning in (
        (
            "columns",
            "ids, globs, a profile, or a release with another torch, numpy or Python, such as "
            "triton-3.2.0+torch-2.5.1+numpy-2.0.2+python-3.12 or any part of that (default: founding)",
        ),
        ("targets", "sm_90, gfx*, H100, ... or a profile (default: founding; all)"),
        (
            "lanes",
            "compile, emulate, interpret, device (default: compile and interpret, and emulate on one NVIDIA target)",
        ),
        ("modes", "bare, shimmed (default: both)"),
        ("kernels", "names of kernels (default: all)"),
    ):
        group.add_argument(f"--{name}", action="append", metavar="GLOB,..", help=meaning)
    group.add_argument(
        "--suite",
        type=Path,
        metavar="DIR",
        help="a folder of kernel modules instead of crosswarp's",
    )
    group.add_argument(
        "--main",
        metavar="PATH_OR_REF",
        default=os.environ.get("CROSSWARP_MAIN") or None,
        help="what the column main is: a wheel, a folder or a git reference of Triton (env CROSSWARP_MAIN)",
    )
    group.add_argument(
        "--nightly-index",
        metavar="URL",
        default=os.environ.get("CROSSWARP_NIGHTLY_INDEX") or None,
        help="else the newest build of this index (env CROSSWARP_NIGHTLY_INDEX)",
    )
    return group


def limits(group: argparse._ActionsContainer) -> None:
    group.add_argument(
        "--jobs", type=positive, metavar="N", help="cases at a time (default: the CPUs at hand)"
    )
    group.add_argument(
        "--time-limit", type=positive, default=120, metavar="S", help="for one case (120)"
    )
    group.add_argument(
        "--memory-limit",
        type=positive,
        default=6000,
        metavar="MB",
        help="for one compilation (6000)",
    )
    group.add_argument(
        "--column-limit", type=positive, default=3600, metavar="S", help="for one column (3600)"
    )


def store(group: argparse._ActionsContainer) -> None:
    group.add_argument(
        "--store", type=Path, default=Path(".crosswarp/store.db"), metavar="PATH",
        help="the SQLite file of all runs (.crosswarp/store.db)",
    )  # fmt: skip


def positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be 1 or more")
    return number
