"""Counts the cells of a run that were reused: nothing had changed, so an earlier run's verdict holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from crosswarp.matrix.results.record import Record


@dataclass(frozen=True)
class Reused:
    """Attributes:
    of: all the cells that were looked at.
    runs: by the number of an earlier run, how many of them are from there; 0 is a run that another store holds.
    """

    of: int
    runs: Mapping[int, int]

    @property
    def cells(self) -> int:
        return sum(self.runs.values())

    def __str__(self) -> str:
        """`412 of 500 cells from run 12`; empty where all ran."""
        if not self.runs:
            return ""
        named = [str(run) for run in sorted(self.runs) if run]
        word = "run" if len(named) == 1 else "runs"
        sources = [f"{word} {', '.join(named)}"] if named else []
        sources += ["runs of another store"] if 0 in self.runs else []
        return f"{self.cells:,} of {self.of:,} cells from {' and '.join(sources)}"


def reused(
    records: Sequence[Record],
    sources: Mapping[tuple[str, str], int],
    column: str | None = None,
    target: str | None = None,
) -> Reused:
    """Counts the cells reused from other runs, by run; of all `records`, or of one column or target.

    `sources`: by column and item, the run that its cells come from.
    """
    of, runs = 0, dict[int, int]()
    for record in records:
        if column in (None, record.column) and target in (None, record.target):
            of += 1
            if sources and (source := sources.get((record.column, record.item))) is not None:
                runs[source] = runs.get(source, 0) + 1
    return Reused(of, runs)
