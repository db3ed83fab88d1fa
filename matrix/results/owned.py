"""Whose kernels a run has, and the verdict that follows: the owner of a kernel decides which failures are expected.

In crosswarp's own suite a known issue is an expected failure. In a user's suite, or a library's tests, a failure
without compat fails the run even if an issue explains it, unless the owner expects it: the settings say that the
library installs compat (then the cells with compat decide), list it (`xfail`, strict), the owner's issues.toml has a
record of it, or the owner's baseline has the same failure.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from crosswarp.matrix import versions
from crosswarp.matrix.facts.issues import Issue
from crosswarp.matrix.results import verdict
from crosswarp.matrix.results.cause import words
from crosswarp.matrix.results.described import Described
from crosswarp.matrix.results.record import Record
from crosswarp.matrix.results.verdict import ByKernel, Fix, Green, Verdict, triton_of

# In a run's plan, as the store keeps it.
KEY = "owner"


@dataclass(frozen=True)
class Expected:
    """A failure that the owner lists. `cells`: a glob of KERNEL or KERNEL/CASE."""

    cells: str
    triton: str = ""
    targets: tuple[str, ...] = ("*",)
    reason: str = ""

    def covers(self, record: Record) -> bool:
        names = (record.kernel, f"{record.kernel}/{record.case}")
        return (
            any(fnmatchcase(name, self.cells) for name in names)
            and any(fnmatchcase(record.target, glob) for glob in self.targets)
            and (not self.triton or versions.within(triton_of(record), self.triton))
        )


@dataclass(frozen=True)
class Owner:
    """
    Attributes:
        whose: ``suite`` for a user's, ``library`` for a library's tests, empty for crosswarp's own.
        compat: whether the library installs compat itself.
        issues: the ids of the owner's own known issues.
        accepted: of a committed baseline, each failing cell with its cause in words.
    """

    whose: str = ""
    compat: bool = False
    xfail: tuple[Expected, ...] = ()
    issues: frozenset[str] = frozenset()
    accepted: frozenset[tuple[str, str]] = frozenset()

    def about(self) -> dict[str, Any]:
        """Returns the part of the run's plan that the store keeps."""
        expectations = {
            "compat": self.compat,
            "xfail": [vars(entry) | {"targets": list(entry.targets)} for entry in self.xfail],
            "issues": sorted(self.issues),
            "accepted": [list(cell) for cell in sorted(self.accepted)],
        }
        return {KEY: expectations} if any(expectations.values()) else {}


def of_plan(plan: Mapping[str, Any]) -> Owner:
    """The owner of a run, from its plan as the store has it, which a stranger may have written."""
    whose = Described(plan).whose
    stored = plan.get(KEY)
    if not whose or not isinstance(stored, Mapping):
        return Owner(whose)
    xfail = tuple(
        Expected(
            str(entry.get("cells", "")), str(entry.get("triton", "")), tuple(map(str, entry.get("targets", ["*"]))),
            str(entry.get("reason", "")),
        )
        for entry in stored.get("xfail", ())
    )  # fmt: skip
    accepted = frozenset((str(cell), str(cause)) for cell, cause in stored.get("accepted", ()))
    return Owner(
        whose,
        bool(stored.get("compat")),
        xfail,
        frozenset(map(str, stored.get("issues", ()))),
        accepted,
    )


def accepted(records: Iterable[Record]) -> frozenset[tuple[str, str]]:
    """The failures of a baseline, for an Owner."""
    return frozenset((record.id, words(record)) for record in records if record.red)


def judge(
    records: Sequence[Record], issues: Sequence[Issue] | ByKernel, plan: Mapping[str, Any]
) -> Verdict:
    """The verdict on a run with this plan."""
    owner = of_plan(plan)
    if owner.whose:
        return _Theirs(records, ByKernel.of(issues).issues, owner).verdict
    return verdict.judge(records, issues)


def claims(issue: Issue) -> bool:
    """Whether the fingerprint of an issue is enough to claim a kernel that is not crosswarp's.

    Results are named by a kernel of ours, and some texts are those of everybody's mistakes as well.
    """
    return issue.kernels == ("*",) and not issue.looks_like


class _Theirs:
    def __init__(self, records: Sequence[Record], issues: Sequence[Issue], owner: Owner) -> None:
        self._owner = owner
        self._own = ByKernel([issue for issue in issues if issue.id in owner.issues])
        self._upstream = ByKernel(
            [issue for issue in issues if issue.id not in owner.issues and issue.kernels == ("*",)]
        )
        self._twins: dict[tuple[str, str, str], list[Record]] = defaultdict(list)
        self.verdict = Verdict(theirs=True)
        for record in records:
            self._twins[record.column, _place(record), record.mode].append(record)
        self._compat = owner.compat and any(record.mode == "shimmed" for record in records)
        for record in records:
            if record.red:
                self._failure(record)
            elif record.ran:
                self._pass(record)

    def _failure(self, record: Record) -> None:
        judged = self.verdict
        if any(entry.covers(record) for entry in self._owner.xfail) or (
            (record.id, words(record)) in self._owner.accepted
        ):
            judged.expected.append(record)
            return
        own = verdict.classify(record, self._own, triton_of(record))
        fixed_by = self._fixed_by(record)
        issue = own or verdict.classify(record, self._upstream, triton_of(record))
        sure = issue is not None and (
            own is not None or claims(issue) or bool(fixed_by and issue.shim in fixed_by)
        )
        if issue is not None and sure and fixed_by is not None:
            judged.fixes.append(Fix(issue, record, (issue.shim,) if issue.shim else fixed_by))
        elif fixed_by is not None:
            judged.fixed[record.id] = fixed_by
        if own is not None or (self._compat and record.mode == "bare"):
            # Her own record, strict as ours are; or the cell with compat decides.
            if issue is not None and sure:
                judged.known.append((record, issue))
            else:
                judged.expected.append(record)
            return
        judged.unexpected_red.append(record)
        if issue is not None and sure and not self._is_broken(record):
            judged.explained[record.id] = issue
        elif issue is not None:
            judged.alike[record.id] = issue

    def _pass(self, record: Record) -> None:
        decides = "shimmed" if self._compat else "bare"
        if record.mode == decides and not record.config and record.outcome == "pass":
            listed = next((entry for entry in self._owner.xfail if entry.covers(record)), None)
            if listed is not None:
                self.verdict.unexpected_pass.append(record)
        if record.mode == "bare":
            for issue in self._own.proving(record.kernel):
                if issue.status == "reproduced" and verdict.must_be_red(issue, record):
                    self.verdict.unexpectedly_green.append(Green(issue, record))

    def _fixed_by(self, record: Record) -> tuple[str, ...] | None:
        """The shims that acted where the same passes with compat; None where that was not seen."""
        if record.mode != "bare":
            return None
        twins = self._twins[record.column, _place(record), "shimmed"]
        same = [twin for twin in twins if twin.config == record.config and twin.ran] or twins
        if any(twin.red for twin in same) or not any(twin.outcome == "pass" for twin in same):
            return None
        return tuple(sorted({shim for twin in same for shim in twin.shims}))

    def _is_broken(self, record: Record) -> bool:
        """Whether only compat makes it fail."""
        return record.mode == "shimmed" and any(
            twin.outcome == "pass" and twin.config == record.config
            for twin in self._twins[record.column, _place(record), "bare"]
        )


def _place(record: Record) -> str:
    return "/".join((record.target, record.lane, record.kernel, record.case))
