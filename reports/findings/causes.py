"""Unexpected failures, one entry for each root cause, with the key that recognises it in another run."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from crosswarp.matrix import versions
from crosswarp.matrix.facts.issues import Issue
from crosswarp.matrix.results.cause import RootCause, cause_of, words
from crosswarp.matrix.results.record import Record
from crosswarp.reports.findings.view import View


@dataclass
class Cause:
    """Failing cells with one root cause, as `cause_of` groups them."""

    key: str
    records: list[Record] = field(default_factory=list)
    issue: Issue | None = None

    @property
    def outcome(self) -> str:
        return self.records[0].outcome

    @property
    def fingerprint(self) -> str:
        """The fingerprint, or the message where there is none."""
        return words(self.records[0])

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


def unexpected(view: View, *, vendors: bool | None = None) -> list[Cause]:
    """Failures that no known issue explains; for another suite's kernels also those that one explains.

    Args:
        vendors: only those on vendors' builds, or only those on Triton's own releases; None for both.
    """
    verdict = view.verdict
    return _grouped([
        (record, verdict.explained.get(record.id))
        for record in verdict.unexpected_red
        if vendors in (None, on_vendors_build(view, record))
    ])  # fmt: skip


def not_fixed(view: View, *, vendors: bool) -> list[Cause]:
    """Those on vendors' builds, or those on Triton's own releases."""
    return _grouped([
        (record, issue)
        for record, issue in view.verdict.shim_failed
        if vendors == on_vendors_build(view, record)
    ])  # fmt: skip


def on_vendors_build(view: View, record: Record) -> bool:
    """Whether a difference is the vendor's, and asks for no change here; never so of another suite's kernels."""
    return not view.verdict.theirs and bool(versions.vendor_of(record.column))


def _grouped(pairs: Sequence[tuple[Record, Issue | None]]) -> list[Cause]:
    causes: dict[RootCause, Cause] = {}
    for record, issue in pairs:
        cause = cause_of(record, issue.id if issue else "")
        causes.setdefault(cause, Cause(_key(cause), issue=issue)).records.append(record)
    return list(causes.values())


def _key(cause: RootCause) -> str:
    """The same on every machine and in every run, for as long as the cause is the same."""
    # The first text stays as it is: reports that are open carry the digest.
    parts = ["not healed", cause.issue] if cause.issue else [cause.outcome, cause.words]
    # The kernel counts only where nothing else identifies the cause.
    parts += [cause.kernel] if cause.kernel else []
    return hashlib.sha256("\n".join(parts).encode("utf-8", "replace")).hexdigest()[:16]


def _names(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))
