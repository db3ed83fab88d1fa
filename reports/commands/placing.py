"""Where a command runs: interpreters that are there, or columns whose environments are built on demand."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from crosswarp.matrix.environments.environment import Builder
from crosswarp.matrix.environments.uvtool import Uv
from crosswarp.matrix.facts import columns, selection
from crosswarp.matrix.facts.columns import Column
from crosswarp.reports.commands.options import column_table


def chosen(options: argparse.Namespace, *default: str) -> list[Column]:
    """The columns of `--triton`, else those of `default`; none where neither names any."""
    wanted = options.columns or default
    return columns.choose(column_table(options), selection.split(wanted)) if wanted else []


def builder(
    options: argparse.Namespace,
    say: Callable[[str], None] = lambda text: None,
    uv: Uv | None = None,
) -> Builder:
    """Returns a function that builds a column's environment below `--work`, or finds it there."""
    folder = (options.work / "envs").absolute()
    return Builder(folder, column_table(options), uv or Uv(), say=say)
