"""Crosswarp's kernels that only show a known issue: they fail on the affected releases, by design.

They show whether an entry holds, and nothing about a suite. They are counted apart. Questions about a suite (which
releases it passes on, and what a release broke) leave them out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from crosswarp import kernels
from crosswarp.matrix.results.described import Described
from crosswarp.matrix.results.record import Record


def among(names: Iterable[str], plan: Mapping[str, Any] | None = None) -> frozenset[str]:
    """Returns the reproducers among `names`; none if all are, since then they were requested.

    `plan` is that of the run. Without one (a baseline has none), any kernel that is not crosswarp's makes it another
    suite, whose names mean nothing here.
    """
    held = {name for name in names if name != "*"}
    if plan is None:
        ours = held <= set(kernels.NAMES)
    else:
        ours = not Described(plan).whose
    shown = frozenset(held.intersection(kernels.KNOWN_ISSUES)) if ours else frozenset()
    return frozenset() if shown == held else shown


def without(records: Sequence[Record], names: Collection[str]) -> list[Record]:
    return [record for record in records if record.kernel not in names]
