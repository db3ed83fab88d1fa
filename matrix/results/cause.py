"""The rule that makes two failing cells one root cause: the one definition, by which all reports group.

A known issue is one cause, wherever it shows and in whichever of its ways. Without an issue, what was said is the
cause: the outcome with its fingerprint, on whichever kernel, column or target. But wrong numbers, a time limit and what
has no fingerprint say nothing of their cause, so there each kernel has its own.
"""

from __future__ import annotations

from typing import NamedTuple

from crosswarp.matrix.results.record import Record

# Their fingerprints say that it went wrong, and not why.
_MUTE = ("mismatch", "timeout")


class RootCause(NamedTuple):
    """Equal for cells of one cause, on every machine and in every run. Parts that do not count are empty."""

    issue: str = ""
    outcome: str = ""
    words: str = ""
    kernel: str = ""

    @property
    def symptom(self) -> RootCause:
        """The cause without what differs from one try to the next: which numbers are wrong hangs on what lay in memory.

        For asking whether one cell fails on another column as it did. Two causes may have one symptom.
        """
        return self._replace(words="") if self.outcome == "mismatch" else self


def cause_of(record: Record, issue: str = "") -> RootCause:
    """The cause of a record, which the known issue with the id `issue` explains, if any does."""
    if issue:
        return RootCause(issue=issue)
    if record.outcome == "unsupported":
        return RootCause("", record.outcome, words(record))
    mute = not record.fingerprint or record.outcome in _MUTE
    # A message holds addresses and paths; a reason is a word.
    text = record.fingerprint or record.reason
    return RootCause("", record.outcome, text, record.kernel if mute else "")


def words(record: Record) -> str:
    """Returns a record's cause in a line."""
    if record.outcome == "unsupported":
        # Its reason is what it lacks; the message says which.
        return record.message or record.reason
    return record.fingerprint or record.reason or record.message
