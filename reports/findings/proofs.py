"""Which known issues a run or a baseline shows: for each, where its case fails or passes without and with compat.

An issue is shown when its case fails on every affected column that ran, and on no other. Pure functions.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from crosswarp.matrix import versions
from crosswarp.matrix.facts.issues import Issue
from crosswarp.matrix.results import verdict as judged
from crosswarp.matrix.results import windows
from crosswarp.matrix.results.record import Record
from crosswarp.matrix.results.verdict import ByKernel, judge, triton_of, within

Verdict = Literal["shown", "in part", "not this time", "contradicted", "not run", "no case"]


@dataclass(frozen=True)
class Proof:
    """Columns are oldest first; one is in `red` where all cells of the case that ran fail, in `mixed` where some do."""

    issue: Issue
    verdict: Verdict
    red: tuple[str, ...] = ()
    green: tuple[str, ...] = ()
    mixed: tuple[str, ...] = ()
    # Failing for another issue, outside the affected releases.
    otherwise: tuple[str, ...] = ()
    # Those in `red` where everything passes with compat.
    fixed: tuple[str, ...] = ()
    # Affected, and nothing of the case ran.
    not_run: tuple[str, ...] = ()
    # The contradictions of the entry, a sentence each.
    wrong: tuple[str, ...] = ()

    @property
    def gpu_alone(self) -> bool:
        return self.issue.lanes == ("device",)


def proofs(records: Sequence[Record], issues: Sequence[Issue]) -> list[Proof]:
    """One for each issue, in their order."""
    by_kernel = ByKernel(issues)
    return of_verdict(records, judge(records, by_kernel), by_kernel)


def of_verdict(
    records: Sequence[Record], verdict: judged.Verdict, issues: Sequence[Issue] | ByKernel
) -> list[Proof]:
    """`proofs`, where the records have been judged already."""
    by_kernel = ByKernel.of(issues)
    wrong: dict[str, list[str]] = defaultdict(list)
    for edge in windows.wrong(records, verdict, by_kernel):
        wrong[edge.issue.id].append(edge.text)
    fixed = {pair.bare.id for pair in verdict.fixes}
    columns = columns_of(records)
    cells: dict[str, list[Record]] = defaultdict(list)
    for record in records:
        if record.mode == "bare" and record.ran:
            for issue in by_kernel.proved_by(record):
                cells[issue.id].append(record)
    return [
        _proof(issue, by_kernel, cells[issue.id], columns, wrong[issue.id], fixed)
        for issue in by_kernel.issues
    ]


def _proof(
    issue: Issue,
    by_kernel: ByKernel,
    records: Sequence[Record],
    columns: Mapping[str, Record],
    wrong: Sequence[str],
    fixed: set[str],
) -> Proof:
    if not issue.case:
        return Proof(issue, "contradicted" if wrong else "no case", wrong=tuple(wrong))
    mine: dict[str, list[Record]] = {column: [] for column in columns}
    for record in records:
        mine[record.column].append(record)
    inside = [column for column, record in columns.items() if _inside(issue, record)]
    states: dict[str, list[str]] = defaultdict(list)
    whole = []
    for column, cells in mine.items():
        red = [
            record
            for record in cells
            if record.red and any(known is issue for known in by_kernel.describing(record))
        ]
        if red and len(red) == len(cells):
            states["red"].append(column)
            if all(record.id in fixed for record in red):
                whole.append(column)
        elif red:
            states["mixed"].append(column)
        elif any(record.red for record in cells):
            states["otherwise"].append(column)
        elif cells:
            states["green"].append(column)
    ran = [column for column in inside if mine[column]]
    remarks = list(wrong)
    partly = set(states["mixed"]) | set(states["otherwise"]) & set(inside)
    if issue.status == "reproduced" and not remarks and partly:
        remarks.append(f"only a part of its case fails in this way on {', '.join(sorted(partly))}.")
    if issue.status == "no longer reproduces" and (states["red"] or states["mixed"]):
        remarks.append(f"it fails again on {', '.join([*states['red'], *states['mixed']])}.")
    not_run = [column for column in inside if not mine[column]]
    verdict: Verdict = "shown"
    if remarks:
        verdict = "contradicted"
    elif not ran:
        verdict = "not run"
    elif issue.status == "by chance" and not (states["red"] or states["mixed"]):
        verdict = "not this time"
    elif not_run:
        verdict = "in part"
    return Proof(
        issue, verdict, tuple(states["red"]), tuple(states["green"]), tuple(states["mixed"]),
        tuple(states["otherwise"]), tuple(whole), tuple(not_run), tuple(remarks),
    )  # fmt: skip


def columns_of(records: Sequence[Record]) -> dict[str, Record]:
    """Each column with a record of it, oldest first."""
    first: dict[str, Record] = {}
    for record in records:
        if record.column not in first or (record.versions and not first[record.column].versions):
            first[record.column] = record
    return dict(sorted(first.items(), key=lambda item: versions.sort_key(triton_of(item[1]))))


def _inside(issue: Issue, record: Record) -> bool:
    return all(within(issue, record, axis) for axis in ("triton", "torch"))
