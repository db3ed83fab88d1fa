"""`crosswarp doctor`: what is installed here, what compat fixes of it, and what to do."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from crosswarp.compat import doctor, doctor_text
from crosswarp.matrix.facts import selection, targets
from crosswarp.reports.commands.options import add_files, known_issues, positive
from crosswarp.reports.findings.doctor import ask, with_issues

DESCRIPTION = (
    "Begin with what to do here, then list Triton, torch and the devices, the shims that are active on them and why, "
    "and the known issues that are left. Exit status: 0 every known issue is fixed, 1 one is not, 2 usage or no Triton."
)
EXAMPLES = (
    "crosswarp doctor",
    "crosswarp doctor --python ../venv/bin/python --targets H100",
)


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--format", choices=("text", "json"), default="text", help="(text)")
    parser.add_argument(
        "--python",
        type=Path,
        metavar="PYTHON",
        help="look at this interpreter's environment instead of our own",
    )
    parser.add_argument(
        "--targets", action="append", metavar="NAME,..",
        help="sm_90, gfx*, H100, ... to judge issues for (default: the devices here, or all when there is none)",
    )  # fmt: skip
    parser.add_argument(
        "--guard",
        choices=("auto", "always", "off"),
        default="auto",
        help="as for compat.install (auto)",
    )
    parser.add_argument(
        "--timeout",
        type=positive,
        default=120,
        metavar="S",
        help="for asking torch and the devices (120)",
    )
    add_files(parser, "issues")


def run(options: argparse.Namespace, argv: Sequence[str]) -> int:
    known = known_issues(options)
    judged: list[str] = []
    if options.targets:
        # A misspelt name would find nothing left to fix.
        judged = list(targets.choose(targets.load(), selection.split(options.targets)))
    if options.python:
        report = ask(options.python, options.guard, options.timeout)
    else:
        report = doctor.examine(options.guard, options.timeout)
    report = with_issues(report, known, judged)
    print(
        doctor.as_json(report) if options.format == "json" else doctor_text.render(report), end=""
    )
    return report["exit_code"]
