"""Checks that need more than one record of issues.toml: whether its shim, its case and its date are real.

For our own file; records of others speak of kernels that only they have. Each problem ends with what to do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from fnmatch import fnmatchcase
from pathlib import Path

from crosswarp import kernels
from crosswarp.compat.record import Shim
from crosswarp.matrix import versions
from crosswarp.matrix.facts.columns import Column
from crosswarp.matrix.facts.issues import Issue

_NAME = re.compile(r'"([^"\s]+)"')


def problems(
    issues: Sequence[Issue], shims: Sequence[Shim], table: Sequence[Column], today: date
) -> list[str]:
    by_name = {shim.name: shim for shim in shims}
    known = {issue.id for issue in issues}
    faults = [
        f"{shim.name}: fixes {shim.issue}, and there is no such issue. Add its entry, or correct the name."
        for shim in shims
        if shim.issue not in known
    ]
    for issue in issues:
        faults += [f"{issue.id}: {text}" for text in _problems(issue, by_name, table, today)]
    return faults


def _problems(
    issue: Issue, shims: Mapping[str, Shim], table: Sequence[Column], today: date
) -> Iterator[str]:
    if date.fromisoformat(issue.checked) > today:
        yield f"checked on {issue.checked}, which is to come. Write the day on which it was."
    for case in issue.case:
        if case.kernel not in kernels.NAMES:
            yield f'its case names the kernel "{case.kernel}", and there is none. Name one of kernels/.'
        elif not any(fnmatchcase(name, case.case) for name in _cases(case.kernel)):
            yield f'no case of {case.kernel} matches "{case.case}". Name one of its cases.'
    if issue.shim is None:
        return
    shim = shims.get(issue.shim)
    if shim is None:
        yield f'its shim "{issue.shim}" does not exist. Name one of compat/shims/.'
        return
    # A shim that is not installed where its issue is red fixes nothing.
    bare = [
        column.triton
        for column in table
        if column.triton
        and versions.within(column.triton, issue.triton)
        and not versions.within(column.triton, shim.window)
    ]
    if bare:
        yield (
            f"its affected releases {issue.triton or '(all)'} hold {', '.join(bare)}, and those of {shim.name}, "
            f"{shim.window}, do not. Widen the shim's, or close the issue's."
        )


def _cases(kernel: str) -> list[str]:
    """By what the text of its file quotes: importing it needs Triton."""
    (path,) = Path(kernels.__file__).parent.rglob(f"{kernel}.py")
    return _NAME.findall(path.read_text("utf-8"))
