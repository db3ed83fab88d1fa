"""Compares edited kernels with the unedited ones: cells of a run, by the rules of `judging`.

A cell of an edited kernel counts where the unedited one passed in the same column, on the same target, in the same lane
and case; a failure that the unedited one shares is the kernel's. As with generated programs, a refusal counts where
another column compiles the edited kernel. Wrong numbers count where another column has the right ones and a second
witness agrees. In FPSan, which one release has, the second witness is enough.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from crosswarp.matrix.facts.issues import Issue
from crosswarp.matrix.results import verdict
from crosswarp.matrix.results.record import Record

from . import judging, known, ring
from .editing import Edited
from .judging import CRASH, NUMBERS, REFUSAL, Suspect
from .ran import Cell

HURRIED = "a timeout beside other jobs"


@dataclass(frozen=True)
class EditFinding:
    """An edit after which some Triton gives another result.

    Attributes:
        name: such as ``numbers-matmul__matmul_kernel_one_turn``.
        kind: as in Suspect.
        begun: the edited module that showed it first.
        edit: the smallest module that shows it.
        record: its failing cell.
        suspect: that cell, with one that is right.
        bad: the cells that show it, for this module and case.
        issue: the known issue that explains it, or an empty text.
        doubt: the reason to doubt it; empty if there is none.
    """

    name: str
    kind: str
    begun: str
    edit: Edited
    record: Record
    suspect: Suspect
    bad: Sequence[Cell]
    issue: str = ""
    doubt: str = ""

    @property
    def key(self) -> tuple[str, ...]:
        """Findings with one key share a root cause."""
        if self.kind in (CRASH, REFUSAL):
            return self.kind, self.suspect.bad.cause
        return self.kind, self.edit.kernel, self.edit.kind.name, self.suspect.bad.column


@dataclass
class Comparison:
    """The cells of a run, compared.

    Attributes:
        compared: cells of edited kernels whose unedited one passed.
        passed: those that passed as well.
        refused: edited kernels that no column compiles, in any case.
        found: the believed findings, one of each root cause, the smallest module of each.
        doubted: how many were not believed, by reason.
    """

    compared: int = 0
    passed: int = 0
    refused: list[str] = field(default_factory=list)
    found: list[EditFinding] = field(default_factory=list)
    doubted: Counter[str] = field(default_factory=Counter)


def compare(
    records: Sequence[Record],
    edits: Iterable[Edited],
    columns: Sequence[str],
    releases: Mapping[str, str],
    issues: Sequence[Issue],
) -> Comparison:
    """Compares the records of edited and unedited kernels, for `edits`.

    Args:
        columns: in the order of their releases.
        releases: Triton's release, by column.
    """
    made = Comparison()
    of_kernel: dict[str, list[Record]] = defaultdict(list)
    for record in records:
        of_kernel[record.kernel].append(record)
    findings: list[EditFinding] = []
    for edit in edits:
        plain = {_place(record): record for record in of_kernel[edit.kernel]}
        groups: dict[tuple[str, ...], list[Record]] = defaultdict(list)
        for record in of_kernel[edit.name]:
            unedited = plain.get(_place(record))
            if unedited is not None and unedited.outcome == "pass" and record.ran:
                groups[record.lane, record.case, record.config].append(record)
        seen = [record for group in groups.values() for record in group]
        made.compared += len(seen)
        made.passed += sum(record.outcome == "pass" for record in seen)
        if seen and all(_cell(record).refused for record in seen):
            made.refused.append(edit.name)
        for group in groups.values():
            findings += _of_group(edit, group, seen, columns)
    for one in findings:
        if one.doubt:
            made.doubted[one.doubt] += 1
    believed = [_explained(one, releases, issues) for one in findings if not one.doubt]
    for one in sorted(believed, key=lambda found: len(found.edit.text)):
        if all(one.key != other.key for other in made.found):
            made.found.append(one)
    return made


def _of_group(
    edit: Edited, group: Sequence[Record], seen: Sequence[Record], columns: Sequence[str]
) -> Iterable[EditFinding]:
    """Returns the findings of one module, lane, case and configuration, over all columns and targets."""
    ordered = sorted(group, key=lambda one: (columns.index(one.column), one.target))
    cells = [_cell(record) for record in ordered]
    for suspect in judging.judge(cells):
        if suspect.kind not in (CRASH, REFUSAL, NUMBERS):
            continue
        doubt = suspect.doubt
        if edit.exact and suspect.kind == NUMBERS and suspect.good is None:
            # No other release has FPSan; the unedited kernel is the same twice there.
            doubt = judging.ONE_WITNESS
            if any(judging.witness(suspect.bad, cell) for cell in cells):
                doubt = ""
        record = next(one for one, cell in zip(ordered, cells, strict=True) if cell is suspect.bad)
        if doubt == judging.ONE_WITNESS and any(_witness(record, other) for other in seen):
            doubt = ""
        if record.outcome == "timeout" and record.resources.get("alone") is not True:
            doubt = HURRIED
        bad = suspect.bad
        same = [cell for cell in cells if cell.outcome == bad.outcome and cell.cause == bad.cause]
        name = f"{suspect.kind}-{edit.name}"
        yield EditFinding(
            name, suspect.kind, edit.name, edit, record, suspect, same, doubt=doubt
        )  # fmt: skip


def _witness(record: Record, other: Record) -> bool:
    """Whether another case has wrong numbers in the same column."""
    return (
        other.column == record.column
        and _cell(other).wrong
        and (other.case, other.config) != (record.case, record.config)
    )


def _explained(
    finding: EditFinding, releases: Mapping[str, str], issues: Sequence[Issue]
) -> EditFinding:
    """With the known issue: of the unedited kernel's name, else of the shape that the edit makes."""
    release = releases[finding.record.column]
    kernel = finding.edit.kernel.removesuffix(ring.ENDING)
    issue = verdict.classify(replace(finding.record, kernel=kernel), issues, release)
    tags = finding.edit.kind.tags
    name = issue.id if issue else known.explains(finding.suspect, tags, release, issues)
    return replace(finding, issue=name)


def _place(record: Record) -> tuple[str, ...]:
    return (
        record.column, record.target, record.lane, record.mode, record.case, record.config,
    )  # fmt: skip


def _cell(record: Record) -> Cell:
    phase = record.phase
    if record.outcome in ("crash", "timeout") and (record.lane == "compile" or not phase):
        # Nothing is executed in that lane; a death during execution in the other lane is marked so.
        phase = "compile"
    return Cell(
        record.column, record.target, record.outcome, record.reason, record.fingerprint, record.message, phase,
        resources=record.resources,
    )  # fmt: skip
