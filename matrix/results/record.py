"""A record: the result of one cell, as the cell side streams it and the store keeps it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from crosswarp.matrix.cell.plain import MAX_TEXT, clean, clean_text
from crosswarp.matrix.cell.protocol import (
    LANES,
    LANES_OF_TARGETS,
    MODES,
    OUTCOMES,
    RED,
    Cell,
)

__all__ = [
    "LANES",
    "LANES_OF_TARGETS",
    "MAX_TEXT",
    "MODES",
    "OUTCOMES",
    "RED",
    "Record",
    "by_column",
    "clean",
    "clean_text",
    "of",
]


@dataclass(frozen=True)
class Record:
    column: str
    target: str
    lane: str
    mode: str
    kernel: str
    case: str
    config: str = ""
    outcome: str = "not-run"
    reason: str = ""
    fingerprint: str = ""
    message: str = ""
    phase: str = ""
    seconds: float = 0.0
    resources: Mapping[str, Any] = field(default_factory=dict)
    shims: tuple[str, ...] = ()
    issue: str = ""
    versions: Mapping[str, Any] = field(default_factory=dict)

    @property
    def id(self) -> str:
        return "/".join(
            (self.column, self.target, self.lane, self.mode, self.kernel, self.case, self.config)
        )

    @property
    def item(self) -> str:
        return "/".join((self.target, self.lane, self.mode, self.kernel, self.case))

    @property
    def red(self) -> bool:
        return self.outcome in RED

    @property
    def ran(self) -> bool:
        return self.outcome not in ("unsupported", "not-run")

    def with_issue(self, issue: str) -> Record:
        return replace(self, issue=issue)


def of_fields(*parts: Mapping[str, Any] | Iterable[tuple[str, Any]]) -> Record:
    """The record with these fields, all of them. A frozen dataclass takes four times as long to fill its fields one by
    one, and a run has tens of thousands of records."""
    made = object.__new__(Record)
    values = made.__dict__
    for part in parts:
        values.update(part)
    return made


def of(cell: Cell, column: str) -> Record:
    """The record of a cell that the cell side reported."""
    return Record(column, **{part.name: getattr(cell, part.name) for part in fields(cell)})


def by_column(records: Iterable[Record], columns: Iterable[str] = ()) -> dict[str, list[Record]]:
    """The records of each column: first of `columns`, also where there are none, then of others that have some."""
    grouped: dict[str, list[Record]] = {column: [] for column in columns}
    for record in records:
        grouped.setdefault(record.column, []).append(record)
    return grouped
