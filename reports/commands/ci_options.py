"""The commands that a CI calls, and their options: a run in parts, badges, what is posted."""

from __future__ import annotations

import argparse
import re
from datetime import date
from pathlib import Path

from crosswarp.reports.commands import options


def add(commands: argparse._SubParsersAction) -> None:
    _plan(commands.add_parser(
        "plan", help="the jobs of a run, for CI",
        description="Cut a run into jobs, columns × shards, from the same options as `crosswarp run`; --format github "
        "prints them as a job matrix of GitHub Actions.",
    ))  # fmt: skip
    _merge(commands.add_parser(
        "merge", help="the runs of several machines as one",
        description="Merge runs that are parts of one: columns, or shards of columns, of the same selection, commit "
        "and versions. Exit status: that of the whole run; 2 when the parts overlap or disagree.",
    ))  # fmt: skip
    _github(commands.add_parser(
        "github", help="comment on a pull request, open issues",
        description="Post a stored run by the `gh` CLI, which must be there and have its token (GH_TOKEN). Run it in a "
        "checkout, or with GH_REPO set.",
    ))  # fmt: skip
    _badge(commands.add_parser(
        "badge", help="badges of a stored run",
        description="Write a badge for the whole of a stored run, for each column and for each target, as SVG and "
        "as the JSON of a shields.io endpoint: all.svg, columns/triton-3.2.0.svg, targets/sm_90.svg, ...",
    ))  # fmt: skip


def _plan(parser: argparse.ArgumentParser) -> None:
    options.what(parser)
    for name in ("columns", "targets", "issues"):
        parser.add_argument(f"--{name}-file", type=Path, metavar="TOML")
    parser.add_argument(
        "--shards", type=options.positive, default=1, metavar="N", help="jobs for each column (1)"
    )
    parser.add_argument("--format", choices=("table", "github"), default="table")


def _merge(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "stores", type=Path, nargs="+", metavar="STORE", help="the latest run of each is merged"
    )
    parser.add_argument(
        "--into",
        type=Path,
        required=True,
        metavar="STORE",
        help="gets the merged run, as a new one",
    )
    parser.add_argument(
        "--expect", type=Path, metavar="FILE",
        help="what `crosswarp plan --format github` printed, so that a lost part is noticed",
    )  # fmt: skip
    parser.add_argument("--issues-file", type=Path, metavar="TOML")


def _badge(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--out", type=Path, default=Path("badges"), metavar="DIR", help="where they go (badges)"
    )
    parser.add_argument(
        "--stale-before", type=_date, metavar="DATE",
        help="2026-11-21: what ran before that day is shown as stale (default: nothing is)",
    )  # fmt: skip
    parser.add_argument("--run", type=options.positive, metavar="ID", help="default: the latest")
    parser.add_argument("--issues-file", type=Path, metavar="TOML")
    options.store(parser)


def _github(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    comment = actions.add_parser("comment", help="on a pull request; the next one takes its place")
    comment.add_argument("--pull-request", type=options.positive, required=True, metavar="N")
    comment.add_argument(
        "--name", type=_name, default="crosswarp", metavar="NAME",
        help="tells the comments of several suites apart (crosswarp)",
    )  # fmt: skip
    issues = actions.add_parser("issues", help="one for each root cause that has none yet")
    issues.add_argument(
        "--at-most",
        type=options.positive,
        default=5,
        metavar="N",
        help="issues to open at once (5)",
    )
    for action in (comment, issues):
        action.add_argument("--link", default="", metavar="URL", help="where the whole report is")
        action.add_argument(
            "--out", type=Path, default=Path(".crosswarp/github"), metavar="DIR",
            help="where titles and bodies are written (.crosswarp/github)",
        )  # fmt: skip
        action.add_argument("--dry-run", action="store_true", help="write them and post nothing")
        action.add_argument(
            "--run", type=options.positive, metavar="ID", help="default: the latest"
        )
        action.add_argument("--issues-file", type=Path, metavar="TOML")
        options.store(action)


def _name(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9._/-]{1,60}", text) or "--" in text:
        raise argparse.ArgumentTypeError(f'"{text}": use letters, digits and . _ / -')
    return text


def _date(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f'"{text}" is no day; write 2026-11-21') from None
