"""The verdict on a run: failures that known issues explain, and issues that the run contradicts.

Pure functions: records and issues in, verdict out. Each issue is checked in both directions. A red cell that no issue
explains fails the run. So does an issue's own case that is no longer red on its affected releases, because then the
issue is out of date.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache

from crosswarp.matrix import versions
from crosswarp.matrix.facts.issues import Issue, ProvingCase
from crosswarp.matrix.results.record import Record

# column, target, lane, kernel, case
_Place = tuple[str, str, str, str, str]


@dataclass(frozen=True)
class Green:
    """A cell that its issue says must be red, and is not."""

    issue: Issue
    record: Record


@dataclass(frozen=True)
class Fix:
    issue: Issue
    bare: Record
    shims: tuple[str, ...]


@dataclass
class Verdict:
    known: list[tuple[Record, Issue]] = field(default_factory=list)
    unexpected_red: list[Record] = field(default_factory=list)
    unexpectedly_green: list[Green] = field(default_factory=list)
    # The issue names a shim, and the cell is red shimmed, or red bare and was never seen green shimmed.
    shim_failed: list[tuple[Record, Issue]] = field(default_factory=list)
    fixes: list[Fix] = field(default_factory=list)
    # Whether the kernels are not crosswarp's (owned.py). The other fields are for such a run alone.
    theirs: bool = False
    # By id of an unexpected failure: the known issue that explains it, or one that it looks like.
    explained: dict[str, Issue] = field(default_factory=dict)
    alike: dict[str, Issue] = field(default_factory=dict)
    # By id of a failure without a known issue: the shims that acted where it passes with compat.
    fixed: dict[str, tuple[str, ...]] = field(default_factory=dict)
    # Failures that their owner expects; and expected failures that pass.
    expected: list[Record] = field(default_factory=list)
    unexpected_pass: list[Record] = field(default_factory=list)

    @property
    def not_fixed(self) -> list[tuple[Record, Issue]]:
        """The known failures that are red with the shims as well: their issues name no shim. They do not fail the run,
        and must never be reported as fixed by compat."""
        return [(record, issue) for record, issue in self.known if record.mode == "shimmed"]

    @property
    def as_expected(self) -> bool:
        return not (
            self.unexpected_red
            or self.unexpectedly_green
            or self.shim_failed
            or self.unexpected_pass
        )


def triton_of(record: Record) -> str | None:
    """Returns the version that the cell measured, else the one that its column promises."""
    return record.versions.get("triton") or versions.of_column(record.column)


class ByKernel:
    """Issues by the kernels that they speak of: a run asks for each of its cells, and one issue in a hundred counts."""

    def __init__(self, issues: Sequence[Issue]) -> None:
        self.issues = issues
        self._explaining = _Index((issue, issue.kernels) for issue in issues)
        self._proving = _Index((issue, [case.kernel for case in issue.case]) for issue in issues)
        self._describing: dict[str, list[Issue]] = {}
        self._proved: dict[tuple[str, ...], list[Issue]] = {}

    @classmethod
    def of(cls, issues: Sequence[Issue] | ByKernel) -> ByKernel:
        """`issues` by their kernels; returned unchanged, with their cached answers, where they are that already."""
        return issues if isinstance(issues, ByKernel) else cls(issues)

    def explaining(self, kernel: str) -> Sequence[Issue]:
        """The issues that may explain a failure of the kernel, in their order."""
        return self._explaining.of(kernel)

    def describing(self, record: Record) -> Sequence[Issue]:
        """The issues in whose way a record is red, wherever it ran, in their order."""
        # One failure stands in a run for each column, target and mode, in the same words.
        # Not what a cause is made of: an issue may ask for the configuration as well.
        key = "\n".join([record.kernel, record.config, record.outcome, record.fingerprint])
        if key not in self._describing:
            self._describing[key] = [
                issue for issue in self.explaining(record.kernel) if describes(issue, record)
            ]
        return self._describing[key]

    def proving(self, kernel: str) -> Sequence[Issue]:
        """The issues that have a case on the kernel, in their order."""
        return self._proving.of(kernel)

    def proved_by(self, record: Record) -> Sequence[Issue]:
        """The issues that a bare record is of the cells of (`proves`), in their order."""
        mine = self.proving(record.kernel)
        if not mine:
            return mine
        # The release is no part of it, and one cell stands in a run for each of them.
        key = (record.kernel, record.case, record.config, record.target, record.lane)
        if key not in self._proved:
            self._proved[key] = [issue for issue in mine if proves(issue, record)]
        return self._proved[key]


class _Index:
    """Issues by the kernels that they name. Nearly all name them without a glob, so only a few are tried one by one."""

    def __init__(self, named: Iterable[tuple[Issue, Iterable[str]]]) -> None:
        self._issues: list[Issue] = []
        self._plain: dict[str, set[int]] = defaultdict(set)
        self._globs: list[tuple[int, str]] = []
        self._found: dict[str, list[Issue]] = {}
        for number, (issue, kernels) in enumerate(named):
            self._issues.append(issue)
            for kernel in kernels:
                if _is_glob(kernel):
                    self._globs.append((number, kernel))
                else:
                    self._plain[kernel].add(number)

    def of(self, kernel: str) -> list[Issue]:
        """The issues that name the kernel, in their order."""
        if kernel not in self._found:
            numbers = {number for number, glob in self._globs if _matches(kernel, glob)}
            numbers |= self._plain.get(kernel, set())
            self._found[kernel] = [self._issues[number] for number in sorted(numbers)]
        return self._found[kernel]


def classify(
    record: Record, issues: Sequence[Issue] | ByKernel, column_version: str | None
) -> Issue | None:
    """The issue that explains a red record, or None. For many records, pass the issues by kernel."""
    if not record.red:
        return None
    candidates = [
        issue
        for issue in ByKernel.of(issues).describing(record)
        if _in_window(issue, record, column_version)
    ]
    # Wrong numbers look alike: of several records the one that this very case proves.
    proved = (issue for issue in candidates if any(_covers(case, record) for case in issue.case))
    return next(proved, candidates[0] if candidates else None)


def describes(issue: Issue, record: Record) -> bool:
    """Whether a record is red in the way of `issue`, wherever it ran."""
    return (
        record.outcome in issue.outcome
        and _any(record.kernel, issue.kernels)
        and _any(record.config, issue.configs)
        and re.search(issue.fingerprint, record.fingerprint) is not None
    )


def proves(issue: Issue, record: Record) -> bool:
    """Whether a record is a bare cell that proves `issue`: red on its affected releases, green on others."""
    return (
        record.mode == "bare"
        and any(_covers(case, record) for case in issue.case)
        and _any(record.config, issue.configs)
        and within(issue, record, "targets")
        and within(issue, record, "lanes")
    )


def within(issue: Issue, record: Record, axis: str) -> bool:
    """Whether the issue affects a record on one axis: "triton", "torch", "targets" or "lanes"."""
    if axis == "triton":
        return versions.within(triton_of(record), issue.triton)
    if axis == "torch":
        torch = record.versions.get("torch")
        return not issue.torch or versions.within(torch, issue.torch)
    return record.lane in issue.lanes if axis == "lanes" else _any(record.target, issue.targets)


def judge(records: Iterable[Record], issues: Sequence[Issue] | ByKernel) -> Verdict:
    """The verdict on a run. For several runs, pass the issues by kernel."""
    records = list(records)
    by_kernel = ByKernel.of(issues)
    verdict = Verdict()
    # Twins are looked for where something is red.
    places = {_place(record) for record in records if record.red}
    shimmed: dict[_Place, list[Record]] = defaultdict(list)
    green_bare: set[tuple[_Place, str]] = set()
    # A run of bare Triton alone says nothing about shims.
    shims_ran = False
    for record in records:
        shims_ran = shims_ran or record.mode == "shimmed"
        place = _place(record)
        if place not in places:
            continue
        if record.mode == "shimmed":
            shimmed[place].append(record)
        elif record.outcome == "pass":
            green_bare.add((place, record.config))
    for record in records:
        if record.red:
            issue = classify(record, by_kernel, triton_of(record))
            twin = (_place(record), record.config)
            # A failure with compat alone is no fault of Triton's, whatever it looks like.
            broken = record.mode == "shimmed" and twin in green_bare
            if issue is None or (broken and not issue.shim):
                verdict.unexpected_red.append(record)
                continue
            fixed = _fix_of(record, issue, shimmed)
            if fixed:
                verdict.fixes.append(fixed)
            if issue.shim and shims_ran and not fixed:
                verdict.shim_failed.append((record, issue))
            else:
                verdict.known.append((record, issue))
        elif record.mode == "bare" and record.ran:
            for issue in by_kernel.proved_by(record):
                if issue.status == "reproduced" and _in_window(issue, record, triton_of(record)):
                    verdict.unexpectedly_green.append(Green(issue, record))
    return verdict


def _fix_of(record: Record, issue: Issue, shimmed: Mapping[_Place, list[Record]]) -> Fix | None:
    """Returns how compat fixed the record: the same configuration green with it, or, where the shim dropped that, all
    of the case."""
    if record.mode != "bare":
        return None
    twins = shimmed.get(_place(record), [])
    # A configuration that an autotuner left out proves nothing by itself.
    same = [twin for twin in twins if twin.config == record.config and twin.ran]
    twins = same or twins
    if any(twin.red for twin in twins) or not any(twin.outcome == "pass" for twin in twins):
        return None
    if issue.shim:
        # Others may have acted as well, on unrelated code.
        return Fix(issue, record, (issue.shim,))
    return Fix(issue, record, tuple(sorted({shim for twin in twins for shim in twin.shims})))


def _place(record: Record) -> _Place:
    return record.column, record.target, record.lane, record.kernel, record.case


def must_be_red(issue: Issue, record: Record) -> bool:
    """Whether a record is a cell that proves `issue`, on an affected release."""
    return proves(issue, record) and _in_window(issue, record, triton_of(record))


def _covers(case: ProvingCase, record: Record) -> bool:
    return (
        _matches(record.kernel, case.kernel)
        and _matches(record.case, case.case)
        and _any(record.target, case.targets)
        and _any(record.lane, case.lanes)
        and _any(record.config, case.configs)
    )


def _in_window(issue: Issue, record: Record, version: str | None) -> bool:
    return versions.within(version, issue.triton) and all(
        within(issue, record, axis) for axis in ("torch", "targets", "lanes")
    )


def _any(text: str, globs: Iterable[str]) -> bool:
    return any(_matches(text, glob) for glob in globs)


def _matches(text: str, glob: str) -> bool:
    return glob == "*" or (fnmatchcase(text, glob) if _is_glob(glob) else text == glob)


@cache
def _is_glob(text: str) -> bool:
    return any(character in text for character in "*?[")
