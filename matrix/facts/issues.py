"""Known upstream issues, read from issues.toml.

An issue claims which versions, targets, lanes and configurations show it, and by what. matrix/results/verdict.py
compares the claims with a run.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any, Literal

from crosswarp.matrix import versions
from crosswarp.matrix.cell.protocol import LANES, RED
from crosswarp.matrix.facts import datafile, validators
from crosswarp.matrix.facts.validators import Rule, Strict

DEFAULT_FILE = Path(__file__).with_name("issues.toml")
# The evidence that a case of ours has shown.
SEEN = ("reproduced", "by chance")
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


def _one_or_several(value: Any) -> Any:
    return (value,) if isinstance(value, (str, Mapping)) else value


def _date(value: Any) -> Any:
    # TOML has a date type; both spellings are fine.
    return value.isoformat() if isinstance(value, date) else value


@dataclass(frozen=True, kw_only=True)
class ProvingCase(Strict):
    """The cells that must be red, bare and on affected releases, for as long as the issue is real.

    Attributes:
        lanes: by default all of the issue's. A wrong number may depend on a free choice of the GPU, where the lane
            emulate always chooses alike.
    """

    kernel: str
    case: str = "*"
    targets: tuple[str, ...] = ("*",)
    lanes: tuple[str, ...] = ("*",)
    configs: tuple[str, ...] = ("*",)


@dataclass(frozen=True, kw_only=True)
class Issue(Strict):
    id: Annotated[str, Rule(pattern=r"^[a-z0-9][a-z0-9._-]*$")]
    title: Annotated[str, Rule(min_length=1)]
    # The code that meets it, on one line; "" where the title says it.
    code: str = ""
    # By chance: its case is red in some processes and green in others, as the compiler makes other code in each.
    status: Literal["reproduced", "by chance", "unverified", "no longer reproduces"]
    triton: Annotated[str, Rule(validators.specifier)] = ""
    torch: Annotated[str, Rule(validators.specifier)] = ""
    targets: tuple[str, ...] = ("*",)
    lanes: tuple[str, ...] = ("compile",)
    kernels: tuple[str, ...] = ("*",)
    configs: tuple[str, ...] = ("*",)
    outcome: Annotated[tuple[str, ...], Rule(before=_one_or_several)]
    fingerprint: Annotated[str, Rule(validators.regex)] = ""
    # Whether other mistakes have its fingerprint as well: a user's kernel then only "looks like" it.
    looks_like: bool = False
    links: Annotated[tuple[Annotated[str, Rule(_link)], ...], Rule(min_length=1)]
    fixed_in: Annotated[str, Rule(validators.version)] | None = None
    workaround: str = ""
    shim: str | None = None
    case: Annotated[tuple[ProvingCase, ...], Rule(before=_one_or_several)] = ()
    checked: Annotated[str, Rule(_day, before=_date)]

    def consistent(self) -> None:
        self._words()
        self._fixed_after_its_window()

    def _words(self) -> None:
        for outcome in self.outcome:
            if outcome not in RED:
                raise ValueError(f'outcome "{outcome}" is none of {", ".join(RED)}')
        for lane in self.lanes:
            if lane not in LANES:
                raise ValueError(f'lane "{lane}" is none of {", ".join(LANES)}')
        if self.status in SEEN and not self.case:
            raise ValueError("a reproduced issue names the case that proves it")
        if self.kernels == ("*",) and all(re.search(self.fingerprint, text) for text in _UNRELATED):
            raise ValueError(
                f'the fingerprint "{self.fingerprint}" would explain every failure of every kernel: write more of '
                "the text, or name the kernels"
            )
        if self.kernels == ("*",) and re.match(r"\^?mismatch:", self.fingerprint):
            raise ValueError(
                f'the fingerprint "{self.fingerprint}" is of a result, and results are named by a kernel: name the '
                "kernels"
            )

    def _fixed_after_its_window(self) -> None:
        if self.fixed_in is None:
            return
        if versions.within(self.fixed_in, self.triton):
            raise ValueError(
                f"fixed in {self.fixed_in}, which its affected releases {self.triton or '(all)'} hold: close them "
                "before"
            )
        fixed = versions.base(self.fixed_in)
        for operator, begins in versions.bounds(self.triton):
            if operator in (">=", ">", "==", "~=") and fixed is not None and fixed < begins:
                raise ValueError(
                    f"fixed in {self.fixed_in}, before its affected releases {self.triton} begin"
                )


@dataclass(frozen=True)
class IssueFile(Strict):
    issue: tuple[Issue, ...] = ()

    def consistent(self) -> None:
        ids = [issue.id for issue in self.issue]
        twice = sorted({name for name in ids if ids.count(name) > 1})
        if twice:
            raise ValueError(f"the same id stands twice: {', '.join(twice)}")
        self._one_record_for_a_cell()

    def _one_record_for_a_cell(self) -> None:
        """A cell is red in one way, so only one record can say in which."""
        by_kernel: dict[str, list[Issue]] = {}
        for issue in self.issue:
            if issue.status in SEEN:
                for kernel in {case.kernel for case in issue.case}:
                    by_kernel.setdefault(kernel, []).append(issue)
        for proved in by_kernel.values():
            for number, first in enumerate(proved):
                for other in proved[number + 1 :]:
                    if cell := _both_claim(first, other):
                        raise ValueError(
                            f"{first.id} and {other.id} both say how {cell} fails: "
                            "narrow the affected releases or a case"
                        )


def _both_claim(first: Issue, other: Issue) -> str:
    """The first of the cells that both records prove themselves by, or an empty text."""
    if not (set(first.lanes) & set(other.lanes) and _meet(first.targets, other.targets)):
        return ""
    if not _meet(first.configs, other.configs):
        return ""
    release = next(
        (
            version
            for version in (*_about(first.triton), *_about(other.triton))
            if all(versions.within(version, issue.triton) for issue in (first, other))
        ),
        None,
    )
    # Issues of a torch are not compared: a Triton may be run with several.
    if release is None or first.torch or other.torch:
        return ""
    for mine in first.case:
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
    """Versions on both sides of each bound of a specifier."""
    samples = ["0"] if not window else []
    for _, edge in versions.bounds(window):
        below = f"{edge.major}.{edge.minor - 1}.999" if edge.minor else f"{edge.major - 1}.999"
        samples += [str(edge), below, f"{edge.major}.{edge.minor}.999"]
    return samples


def _meet(some: Iterable[str], others: Sequence[str]) -> bool:
    """Whether two sets of globs have something in common, where one of them holds the other."""
    return any(fnmatchcase(a, b) or fnmatchcase(b, a) for a in some for b in others)


def load(path: Path = DEFAULT_FILE) -> tuple[Issue, ...]:
    if path != DEFAULT_FILE:
        return datafile.load(path, IssueFile).issue
    return tuple(map(_ours, datafile.document(path)["issue"]))


def _ours(row: Mapping[str, Any]) -> Issue:
    cases = [datafile.unchecked(ProvingCase, case) for case in _one_or_several(row.get("case", ()))]
    outcome, checked = _one_or_several(row["outcome"]), _date(row["checked"])
    return datafile.unchecked(Issue, {**row, "case": cases, "outcome": outcome, "checked": checked})
