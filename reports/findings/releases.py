"""The changes of each Triton release, from a baseline: the breakages, the fixes, and the remaining failures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from crosswarp.matrix import versions
from crosswarp.matrix.facts import language_table
from crosswarp.matrix.facts.issues import Issue
from crosswarp.matrix.facts.probed_targets import Release as Probed
from crosswarp.matrix.results import comparison
from crosswarp.matrix.results.record import Record, by_column
from crosswarp.matrix.results.verdict import Verdict, judge
from crosswarp.reports.findings import gluon_changes, reproducers
from crosswarp.reports.findings.diff import Diff, Side, grouped

# Lanes that use Triton's code generator.
_COMPILED = ("compile", "emulate", "device")


@dataclass(frozen=True)
class Release:
    """One release compared with the one before it, which the oldest lacks.

    Attributes:
        still: known issues by which compiled code gives wrong numbers without an error, oldest known first.
        came, went: public names of triton.language.
        targets_came, targets_went: targets for which it compiles an addition and a dot, and the one before did not.
    """

    version: str
    before: str
    diff: Diff | None
    still: Sequence[Issue]
    kernels: int
    came: Sequence[str] = ()
    went: Sequence[str] = ()
    targets_came: Sequence[str] = ()
    targets_went: Sequence[str] = ()
    gluon: gluon_changes.Changes | None = None


def releases(
    records: Sequence[Record],
    issues: Sequence[Issue],
    language: language_table.Table,
    probed: Mapping[str, Probed],
) -> list[Release]:
    """Every release among the records' columns, oldest first."""
    columns = by_column(records, ())
    by_version = {version: column for column in columns if (version := versions.of_column(column))}
    ordered = sorted(by_version, key=versions.sort_key)
    verdict = judge(records, issues)
    ours = reproducers.among(record.kernel for record in records)
    suite = {record.kernel for record in records} - ours
    made = []
    for before, version in zip(["", *ordered], ordered, strict=False):
        column = by_version[version]
        diff = None
        if before:
            sides = [
                Side("", columns[version], version) for version in (by_version[before], column)
            ]
            pairs = comparison.pairs(*(side.records for side in sides), across_columns=True)
            diff = grouped(sides[0], sides[1], pairs, [verdict], ours)
        names = _changes(_language(language, before), _language(language, version))
        targets = _changes(_targets(probed, before), _targets(probed, version))
        made.append(
            Release(
                version,
                before,
                diff,
                _silent(verdict, column),
                len(suite),
                *names,
                *targets,
                gluon_changes.changes(language, before, version),
            )  # fmt: skip
        )
    return made


def _silent(verdict: Verdict, column: str) -> list[Issue]:
    silent = {
        issue.id: issue
        for record, issue in verdict.known
        if (record.column, record.mode, record.outcome) == (column, "bare", "mismatch")
        and record.lane in _COMPILED
    }
    return sorted(silent.values(), key=lambda issue: (issue.shim is None, issue.id))


def _language(table: language_table.Table, version: str) -> set[str] | None:
    """Returns the public names of the language; None where the release was not probed."""
    if version not in table:
        return None
    hidden = ("libdevice.", "launch.", "tensor.", "tl.extra.")
    return {
        name
        for name in table[version].names
        if not (language_table.of_host(name) or name.startswith(hidden))
    }


def _targets(probed: Mapping[str, Probed], version: str) -> set[str] | None:
    if version not in probed:
        return None
    return {name for name, target in probed[version].targets.items() if target.works}


def _changes(before: set[str] | None, after: set[str] | None) -> tuple[list[str], list[str]]:
    if before is None or after is None:
        return [], []
    return sorted(after - before), sorted(before - after)
