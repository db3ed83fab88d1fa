"""The requirements of a suite or a library besides Triton and torch, at the versions of a column."""

from __future__ import annotations

from collections.abc import Sequence

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from crosswarp.reports.findings.view import View


def of_suite(view: View, column: str) -> list[str]:
    """Returns the requirements of the suite's modules (`run --requires`), as pip takes them."""
    return pinned(view, column, view.run.described.requires)


def pinned(view: View, column: str, wanted: Sequence[str]) -> list[str]:
    """Returns `wanted` at the versions that were installed beside the column, where known. Invalid requirements are
    left out: a store may contain anything."""
    installed = next((e.requirements for e in view.environments if e.column == column), ())
    there: dict[str, Requirement] = {}
    for requirement in map(_requirement, installed):
        if requirement is not None and [part.operator for part in requirement.specifier] == ["=="]:
            there[canonicalize_name(requirement.name)] = requirement
    requirements = []
    for needed in map(_requirement, wanted):
        if needed is None:
            continue
        exact = there.get(canonicalize_name(needed.name))
        if exact is not None and not needed.url:
            needed.specifier = exact.specifier
        requirements.append(str(needed))
    return requirements


def _requirement(text: str) -> Requirement | None:
    try:
        return Requirement(text)
    except InvalidRequirement:
        return None
