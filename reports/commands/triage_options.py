"""The options of the commands that deal with what is red: a script that shows it, and its record."""

from __future__ import annotations

import argparse
from pathlib import Path

from crosswarp.reports.commands import options


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    _reproduce(commands.add_parser(
        "reproduce", help="a red cell as one script",
        description="Write a script that shows a red cell with torch and triton alone, to attach to an upstream "
        "report: the kernel, launcher, reference and the one case. Without CELL: one for each root cause of the run "
        "that no known issue explains, into --out.",
    ))  # fmt: skip
    _issues(commands.add_parser(
        "issues", help="the known issues, and whether a run shows them",
        description="Say of each record in issues.toml on which columns its case was red bare, green bare and green "
        "shimmed, and whether that is what its window says. Exit status: 0 nothing contradicts its record, 1 something "
        "does, 2 usage. With --new: records to paste for what is red and not known.",
    ))  # fmt: skip


def _reproduce(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "cell", nargs="?", metavar="CELL",
        help="as reports name it: triton-3.2.0/sm_90/compile/bare/KERNEL/CASE/CONFIG",
    )  # fmt: skip
    parser.add_argument(
        "--out", type=Path, metavar="PATH",
        help="a file for CELL (default: standard output), else a folder (.crosswarp/reproduce)",
    )  # fmt: skip
    parser.add_argument(
        "--suite", type=Path, metavar="DIR", help="where its kernels are (default: where the run had them)"
    )  # fmt: skip
    parser.add_argument("--run", type=options.positive, metavar="ID", help="default: the latest")
    for name in ("targets", "issues"):
        parser.add_argument(f"--{name}-file", type=Path, metavar="TOML")
    options.store(parser)


def _issues(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--new", action="store_true",
        help="an [[issue]] record for each root cause that none explains, ready to paste but for its link",
    )  # fmt: skip
    parser.add_argument("--run", type=options.positive, metavar="ID", help="default: the latest")
    parser.add_argument(
        "--baseline", type=Path, metavar="FILE", help="what `crosswarp baseline write` wrote, in place of a run"
    )  # fmt: skip
    parser.add_argument("--format", choices=("table", "markdown", "json"), default="table")
    parser.add_argument("--issues-file", type=Path, metavar="TOML")
    options.store(parser)
