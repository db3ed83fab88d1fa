"""Known upstream issues, read from issues.toml, and what a run says about them.

Pure functions: records and issues in, verdict out. An issue is a claim with a window; this module holds the program
to it in both directions. A red cell that no issue explains fails the run, and so does an issue's own case that is no
longer red inside its window, because then the record is out of date.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_validator, model_validator

from crosswarp.matrix import versions
from crosswarp.matrix.facts import datafile, validators
from crosswarp.matrix.results.record import LANES, RED, Record

DEFAULT_FILE = Path(__file__).with_name("issues.toml")
# No expression that says something matches all of these.
_UNRELATED = ("SIGSEGV", "mismatch: y wrong", "TypeError: f() takes 2 positional arguments")


def _link(text: str) -> str:
    if not re.fullmatch(r"https://[^\s<>()\"'`\\|/]+/[^\s<>()\"'`\\|]+", text):
        raise ValueError(
            f"\"{text}\" is no https address of a page: give the upstream report's or change's"
        )
    return text


def _day(text: str) -> str:
    try:
        date.fromisoformat(text)
    except ValueError:
        raise ValueError(f'"{text}" is no day such as 2026-11-21') from None
    return text


class ProvingCase(BaseModel):
    """The cells that must be red, bare and inside the window, for as long as the issue is real."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kernel: str
    case: str = "*"
    targets: tuple[str, ...] = ("*",)
    configs: tuple[str, ...] = ("*",)


class Issue(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    id: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]*$")]
    title: Annotated[str, Field(min_length=1)]
    status: Literal["reproduced", "unverified", "no longer reproduces"]
    triton: Annotated[str, AfterValidator(validators.specifier)] = ""
    torch: Annotated[str, AfterValidator(validators.specifier)] = ""
    targets: tuple[str, ...] = ("*",)
    lanes: tuple[str, ...] = ("compile",)
    kernels: tuple[str, ...] = ("*",)
    configs: tuple[str, ...] = ("*",)
    outcome: tuple[str, ...]
    fingerprint: Annotated[str, AfterValidator(validators.regex)] = ""
    links: Annotated[tuple[Annotated[str, AfterValidator(_link)], ...], Field(min_length=1)]
    fixed_in: Annotated[str, AfterValidator(validators.version)] | None = None
    workaround: str = ""
    shim: str | None = None
    case: tuple[ProvingCase, ...] = ()
    checked: Annotated[str, AfterValidator(_day)]

    @field_validator("outcome", mode="before")
    @classmethod
    def _one_or_several(cls, value: object) -> object:
        return (value,) if isinstance(value, str) else value

    @field_validator("case", mode="before")
    @classmethod
    def _one_case_or_several(cls, value: object) -> object:
        return (value,) if isinstance(value, Mapping) else value

    @field_validator("checked", mode="before")
    @classmethod
    def _date(cls, value: object) -> object:
        # TOML has dates of its own; both spellings are fine.
        return value.isoformat() if hasattr(value, "isoformat") else value

    @model_validator(mode="after")
    def _words(self) -> Issue:
        for outcome in self.outcome:
            if outcome not in RED:
                raise ValueError(f'outcome "{outcome}" is none of {", ".join(RED)}')
        for lane in self.lanes:
            if lane not in LANES:
                raise ValueError(f'lane "{lane}" is none of {", ".join(LANES)}')
        if self.status == "reproduced" and not self.case:
            raise ValueError("a reproduced issue names the case that proves it")
        if self.kernels == ("*",) and all(re.search(self.fingerprint, text) for text in _UNRELATED):
            raise ValueError(
                f'the fingerprint "{self.fingerprint}" would explain every failure of every kernel: write more of '
                "the text, or name the kernels"
            )
        return self

    @model_validator(mode="after")
    def _fixed_after_its_window(self) -> Issue:
        if self.fixed_in is None:
            return self
        if versions.within(self.fixed_in, self.triton):
            raise ValueError(
                f"fixed in {self.fixed_in}, which its window {self.triton or 'of all versions'} holds: close it before"
            )
        fixed = versions.base(self.fixed_in)
        for operator, begins in versions.bounds(self.triton):
            if operator in (">=", ">", "==", "~=") and fixed is not None and fixed < begins:
                raise ValueError(
                    f"fixed in {self.fixed_in}, before its window {self.triton} begins"
                )
        return self


class IssueFile(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    issue: tuple[Issue, ...] = ()

    @model_validator(mode="after")
    def _unique(self) -> IssueFile:
        ids = [issue.id for issue in self.issue]
        twice = sorted({name for name in ids if ids.count(name) > 1})
        if twice:
            raise ValueError(f"the same id stands twice: {', '.join(twice)}")
        return self

    @model_validator(mode="after")
    def _one_record_for_a_cell(self) -> IssueFile:
        """A cell is red in one way, so only one record can say in which."""
        proved = [issue for issue in self.issue if issue.status == "reproduced"]
        for number, one in enumerate(proved):
            for other in proved[number + 1 :]:
                if told := _both_claim(one, other):
                    raise ValueError(
                        f"{one.id} and {other.id} both say how {told} is red: narrow a window or a case"
                    )
        return self


def _both_claim(one: Issue, other: Issue) -> str:
    """The first of the cells that both records prove themselves by, or an empty text."""
    if not (set(one.lanes) & set(other.lanes) and _meet(one.targets, other.targets)):
        return ""
    if not _meet(one.configs, other.configs):
        return ""
    release = next(
        (
            version
            for version in (*_about(one.triton), *_about(other.triton))
            if all(versions.within(version, issue.triton) for issue in (one, other))
        ),
        None,
    )
    # What holds of a torch is not compared: a Triton may be run with several.
    if release is None or one.torch or other.torch:
        return ""
    for mine in one.case:
        for theirs in other.case:
            if (
                mine.kernel == theirs.kernel
                and _meet((mine.case,), (theirs.case,))
                and _meet(mine.targets, theirs.targets)
                and _meet(mine.configs, theirs.configs)
            ):
                return f"{mine.kernel} {mine.case} on {release}"
    return ""


def _about(window: str) -> list[str]:
    """Versions at the edges of a window, on both sides of each."""
    found = ["0"] if not window else []
    for _, edge in versions.bounds(window):
        below = f"{edge.major}.{edge.minor - 1}.999" if edge.minor else f"{edge.major - 1}.999"
        found += [str(edge), below, f"{edge.major}.{edge.minor}.999"]
    return found


def _meet(some: Iterable[str], others: Sequence[str]) -> bool:
    """Whether two sets of globs have something in common, where one of them holds the other."""
    return any(fnmatchcase(a, b) or fnmatchcase(b, a) for a in some for b in others)


def load(path: Path = DEFAULT_FILE) -> tuple[Issue, ...]:
    return datafile.load(path, IssueFile).issue


@dataclass(frozen=True)
class Green:
    """A cell that its issue says must be red, and is not."""

    issue: Issue
    record: Record


@dataclass(frozen=True)
class Healed:
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
    healed: list[Healed] = field(default_factory=list)

    @property
    def unhealed(self) -> list[tuple[Record, Issue]]:
        """Of the known, what is red with the shims as well, as their records say: they name no shim. No failure of the
        run, and never to be told as healed."""
        return [(record, issue) for record, issue in self.known if record.mode == "shimmed"]

    @property
    def as_expected(self) -> bool:
        return not (self.unexpected_red or self.unexpectedly_green or self.shim_failed)


def triton_of(record: Record) -> str | None:
    """What the cell measured, else what its column promises."""
    return record.versions.get("triton") or versions.of_column(record.column)


def classify(record: Record, issues: Sequence[Issue], column_version: str | None) -> Issue | None:
    """The issue that explains a red record, or None."""
    if not record.red:
        return None
    for issue in issues:
        if _in_window(issue, record, column_version) and describes(issue, record):
            return issue
    return None


def describes(issue: Issue, record: Record) -> bool:
    """Whether a record is red in the way of `issue`, wherever it ran."""
    return (
        record.outcome in issue.outcome
        and _any(record.kernel, issue.kernels)
        and _any(record.config, issue.configs)
        and re.search(issue.fingerprint, record.fingerprint) is not None
    )


def proves(issue: Issue, record: Record) -> bool:
    """Whether a record is of the cells that prove `issue`, bare: red on the versions of its window, green on others."""
    return (
        record.mode == "bare"
        and any(_covers(case, record) for case in issue.case)
        and _any(record.config, issue.configs)
        and within(issue, record, "targets")
        and within(issue, record, "lanes")
    )


def within(issue: Issue, record: Record, axis: str) -> bool:
    """Whether a record is inside one part of the window: "triton", "torch", "targets" or "lanes"."""
    if axis == "triton":
        return versions.within(triton_of(record), issue.triton)
    if axis == "torch":
        torch = record.versions.get("torch")
        return not issue.torch or versions.within(torch, issue.torch)
    return record.lane in issue.lanes if axis == "lanes" else _any(record.target, issue.targets)


def judge(records: Iterable[Record], issues: Sequence[Issue]) -> Verdict:
    records = list(records)
    verdict = Verdict()
    shimmed: dict[tuple[str, str], list[Record]] = defaultdict(list)
    green_bare: set[tuple[str, str, str]] = set()
    for record in records:
        if (record.mode, record.outcome) == ("bare", "pass"):
            green_bare.add((record.column, _bare_item(record), record.config))
        if record.mode == "shimmed":
            shimmed[record.column, _bare_item(record)].append(record)
    # A run of bare Triton alone says nothing about shims.
    shims_ran = bool(shimmed)
    for record in records:
        version = triton_of(record)
        if record.red:
            issue = classify(record, issues, version)
            twin = (record.column, _bare_item(record), record.config)
            # What only the shims make red is no fault of Triton's, whatever it looks like.
            broken = record.mode == "shimmed" and twin in green_bare
            if issue is None or (broken and not issue.shim):
                verdict.unexpected_red.append(record)
                continue
            healed = _healed(record, issue, shimmed)
            if healed:
                verdict.healed.append(healed)
            if issue.shim and shims_ran and not healed:
                verdict.shim_failed.append((record, issue))
            else:
                verdict.known.append((record, issue))
        elif record.mode == "bare" and record.ran:
            for issue in issues:
                if issue.status == "reproduced" and _must_be_red(issue, record, version):
                    verdict.unexpectedly_green.append(Green(issue, record))
    return verdict


def _healed(
    record: Record, issue: Issue, shimmed: Mapping[tuple[str, str], list[Record]]
) -> Healed | None:
    """Healed means seen green: the same configuration shimmed, or all of the case where the shim dropped it."""
    if record.mode != "bare":
        return None
    twins = shimmed.get((record.column, _bare_item(record)), [])
    # What an autotuner left out says nothing by itself.
    same = [twin for twin in twins if twin.config == record.config and twin.ran]
    twins = same or twins
    if any(twin.red for twin in twins) or not any(twin.outcome == "pass" for twin in twins):
        return None
    if issue.shim:
        # Others may have acted as well, on what has nothing to do with it.
        return Healed(issue, record, (issue.shim,))
    return Healed(issue, record, tuple(sorted({shim for twin in twins for shim in twin.shims})))


def _bare_item(record: Record) -> str:
    return "/".join((record.target, record.lane, record.kernel, record.case))


def _must_be_red(issue: Issue, record: Record, version: str | None) -> bool:
    return proves(issue, record) and _in_window(issue, record, version)


def _covers(case: ProvingCase, record: Record) -> bool:
    return (
        fnmatchcase(record.kernel, case.kernel)
        and fnmatchcase(record.case, case.case)
        and _any(record.target, case.targets)
        and _any(record.config, case.configs)
    )


def _in_window(issue: Issue, record: Record, version: str | None) -> bool:
    return versions.within(version, issue.triton) and all(
        within(issue, record, axis) for axis in ("torch", "targets", "lanes")
    )


def _any(text: str, globs: Iterable[str]) -> bool:
    return any(fnmatchcase(text, glob) for glob in globs)
