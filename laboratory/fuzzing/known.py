"""The known causes: shapes that are left out by name, and known issues that explain a cell."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from crosswarp.matrix import versions
from crosswarp.matrix.facts.issues import Issue
from crosswarp.matrix.results import verdict
from crosswarp.matrix.results.record import Record

from .judging import CRASH, NUMBERS, REFUSAL, RESOURCES, SLOW, Suspect

# Tag of the generator, kind of suspect, known issue.
_ISSUES = tomllib.loads(Path(__file__).with_name("shapes.toml").read_text("utf-8"))
SHAPES = tuple(
    (tag, kind, name)
    for name, row in _ISSUES.items()
    for tag in row["tags"]
    for kind in row["kinds"]
)
UNRESTRICTED = 8


def avoided(issues: Iterable[Issue], releases: Collection[str], number: int) -> frozenset[str]:
    """Tags that program `number` is made without, if it is for these releases of Triton."""
    if number % UNRESTRICTED == UNRESTRICTED - 1:
        return frozenset()
    by_id = {issue.id: issue for issue in issues}
    return frozenset(
        tag
        for tag, _, name in SHAPES
        if name in by_id and any(versions.within(one, by_id[name].triton) for one in releases)
    )


def explains(suspect: Suspect, tags: Collection[str], release: str, issues: Sequence[Issue]) -> str:
    """Returns the id of the known issue that explains `suspect`, or an empty text."""
    by_id = {issue.id: issue for issue in issues}
    for tag, kind, name in SHAPES:
        issue = by_id.get(name)
        if issue is None or tag not in tags or kind != suspect.kind:
            continue
        # Wrong numbers have no fingerprint.
        alike = kind == NUMBERS or re.search(issue.fingerprint, suspect.bad.fingerprint)
        on_target = any(fnmatchcase(suspect.bad.target, glob) for glob in issue.targets)
        if alike and on_target and versions.within(release, issue.triton):
            return name
    if suspect.kind in (NUMBERS, RESOURCES, SLOW):
        # Wrong numbers look alike: no text distinguishes them.
        return ""
    assert suspect.kind in (CRASH, REFUSAL)
    bad = suspect.bad
    record = Record(
        column=bad.column, target=bad.target, lane="compile", mode="bare", kernel="", case="", config="",
        outcome=bad.outcome, reason=bad.reason, fingerprint=bad.fingerprint, message=bad.message, phase=bad.phase,
    )  # fmt: skip
    found = verdict.classify(record, issues, release)
    return "" if found is None else found.id
