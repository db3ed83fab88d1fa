"""How a run is cut: so many shards of each column that each takes about as long, the longest first."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from crosswarp.matrix.running import jobs
from crosswarp.matrix.running.jobs import Job

# Seconds of work for which a worker is worth its start: a column's Python and torch take some five.
EACH = 300.0
# The most shards of a column; `--shard` accepts no more.
MOST = 1000


@dataclass(frozen=True)
class Share:
    job: Job
    # Seconds of one process; None: unknown.
    cost: float | None


def cut(
    costs: Mapping[str, float | None], words: Sequence[str], shards: int | None = None
) -> list[Share]:
    """The shards of each column, the longest first, so that the last to end is a short one.

    Args:
        costs: by column, in the order of the plan, its seconds in one process.
        shards: the number for each column; None: by its cost.
    """
    parts = []
    for column, cost in costs.items():
        count = shards or min(MOST, max(1, math.ceil((cost or 0) / EACH)))
        each = None if cost is None else cost / count
        # Cut by itself: no other column has to be cut alike.
        parts += [Share(job, each) for job in jobs.cut([column], count, words)]
    # A shard of unknown cost may be the longest of all.
    return sorted(parts, key=lambda share: -(math.inf if share.cost is None else share.cost))
