"""What nobody expected, one entry for each root cause, with the key by which it is known again."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from crosswarp.matrix.facts.issues import Issue
from crosswarp.matrix.results.record import Record
from crosswarp.reports.findings.view import View


@dataclass
class Cause:
    """Cells that are red with one fingerprint, or that one issue's shim did not heal."""

    key: str
    records: list[Record] = field(default_factory=list)
    issue: Issue | None = None

    @property
    def outcome(self) -> str:
        return self.records[0].outcome

    @property
    def fingerprint(self) -> str:
        """Or what else tells it apart."""
        first = self.records[0]
        return first.fingerprint or first.reason or first.message

    @property
    def kernels(self) -> list[str]:
        return _names(record.kernel for record in self.records)

    @property
    def columns(self) -> list[str]:
        return _names(record.column for record in self.records)

    @property
    def targets(self) -> list[str]:
        return _names(record.target for record in self.records)

    @property
    def lanes(self) -> list[str]:
        return _names(record.lane for record in self.records)

    @property
    def modes(self) -> list[str]:
        return _names(record.mode for record in self.records)


def unexpected(view: View) -> list[Cause]:
    """Red, and no known issue explains it."""
    return _grouped([(record, None) for record in view.verdict.unexpected_red])


def not_healed(view: View) -> list[Cause]:
    return _grouped(view.verdict.shim_failed)


def _grouped(found: Sequence[tuple[Record, Issue | None]]) -> list[Cause]:
    causes: dict[str, Cause] = {}
    for record, issue in found:
        key = _key(record, issue)
        causes.setdefault(key, Cause(key, issue=issue)).records.append(record)
    return list(causes.values())


def _key(record: Record, issue: Issue | None) -> str:
    """The same on every machine and in every run, for as long as the cause is the same."""
    if issue:
        words = ["not healed", issue.id]
    else:
        words = [record.outcome, record.fingerprint]
        # What says nothing of its cause is one only within a kernel.
        if not record.fingerprint or record.outcome in ("mismatch", "timeout"):
            words.append(record.kernel)
    return hashlib.sha256("\n".join(words).encode("utf-8", "replace")).hexdigest()[:16]


def _names(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))
