"""The rule that makes two failing cells one root cause: the one definition, by which all reports group.

A known issue is one cause, wherever and however it shows. Without an issue, the outcome with its fingerprint is the
cause, on any kernel, column or target. But wrong numbers, a time limit and outcomes without a fingerprint do not show
their cause, so there each kernel is a separate cause.
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
        """The cause without parts that differ between tries: which numbers are wrong depends on old memory contents.

        For checking whether a cell fails on another column in the same way. Two causes may have one symptom.
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
        # Its reason is the kind of thing that it lacks; the message names it.
        return record.message or record.reason
    return record.fingerprint or record.reason or record.message
