"""How a vendor's build differs from the nearest release: the vendor's changes, and those still to come."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from crosswarp.matrix import versions
from crosswarp.matrix.facts import columns
from crosswarp.matrix.results.record import Record
from crosswarp.reports.findings.view import View
from crosswarp.reports.text.layout import fill

# Of fixes that do not help on a vendor's build.
STAND_ASIDE = "The fixes are made for Triton's own releases, and on this build they stand aside or do not fit."

# Of results that differ from those of the nearest release.
THEIRS = "These changes are the vendor's, or are coming with a later release."

Cells = Callable[[Iterable[tuple[Record, str]]], str]


def differences(view: View, cells: Cells) -> list[str]:
    """A part for each vendor's build of a run that differs from its nearest release, as the known issues have that.

    Args:
        cells: returns the lines of cells, each with the id of its issue or "".
    """
    verdict = view.verdict
    parts = []
    for build in dict.fromkeys(filter(None, map(versions.vendor_of, view.columns))):
        fails = [
            (record, "")
            for record in verdict.unexpected_red
            if versions.vendor_of(record.column) == build
        ]
        passes = [
            (green.record, green.issue.id)
            for green in verdict.unexpectedly_green
            if versions.vendor_of(green.record.column) == build
        ]
        unfixed = [
            (record, issue.id)
            for record, issue in verdict.shim_failed
            if versions.vendor_of(record.column) == build
        ]
        if not fails and not passes and not unfixed:
            continue
        release = nearest_release(build)
        count = len(fails) + len(passes) + len(unfixed)
        text = (
            f"DIFFERS FROM TRITON {release} ({count} cells): {build} is a vendor's build. {THEIRS}"
        )
        lines = [fill("", text)]
        if fails:
            lines += [f"  Fails here ({len(fails)} cells), and no known issue explains it:"]
            lines += [cells(fails)]
        if passes:
            lines += [f"  Passes here ({len(passes)} cells), and is a known issue of {release}:"]
            lines += [cells(passes)]
        if unfixed:
            lines += [fill("  ", _unfixed(len(unfixed), release))]
            lines += [cells(unfixed)]
        parts.append("\n".join(lines))
    return parts


def _unfixed(count: int, release: str) -> str:
    return (
        f"Fails here with compat too ({count} cells): the fixes are made for Triton's own releases, of which {release} "
        "is compared with, and on this build they stand aside or do not fit:"
    )


def nearest_release(build: str) -> str:
    """The release that a vendor's build, such as ``fbtriton-3.7.4``, is nearest to: the last one that is not newer."""
    own = versions.exact(build.rpartition("-")[2])
    releases = [versions.exact(column.triton) for column in columns.published(columns.load())]
    return str(max((release for release in releases if release <= own), default=own))
