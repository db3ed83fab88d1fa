"""Affected releases: those that a run measured, and those of an issue that a run contradicts.

Pure functions. An issue's range is too narrow where its failure is red outside, and too wide where its proving case is
green inside. `wrong` names the wrong edge, and the range that the cells have.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from crosswarp.matrix import versions
from crosswarp.matrix.facts.issues import Issue
from crosswarp.matrix.results.record import Record
from crosswarp.matrix.results.verdict import ByKernel, Verdict, triton_of, within
from crosswarp.matrix.versions import Version, minor

Edge = Literal["lower edge", "upper edge", "hole", "middle"]
# The parts of an issue's affected releases: its field, and the value that a record has there.
AXES: Mapping[str, Callable[[Record], str | None]] = {
    "triton": triton_of,
    "torch": lambda record: record.versions.get("torch"),
    "targets": lambda record: record.target,
    "lanes": lambda record: record.lane,
}


@dataclass(frozen=True)
class Wrong:
    """One error of an issue's affected releases that a run shows."""

    issue: Issue
    text: str
    records: tuple[Record, ...]

    def __str__(self) -> str:
        return f"{self.issue.id}: {self.text}"


def measured(
    red: Iterable[Version],
    green: Iterable[Version],
    open_below: bool = False,
    releases: Iterable[Version] = (),
) -> str:
    """The specifier that holds each version in `red` and none in `green`; a version in both is red.

    A minor has one column, its last patch, so an edge is at the minor unless two of its patches differ. One of
    `releases` between a red and a green one, which was not run, is left out. Where nothing newer was green, nothing is
    assumed to have fixed it; where nothing older was, nothing is assumed to be broken, unless `open_below`.
    """
    reds = sorted(set(red))
    greens = sorted(set(green) - set(reds))
    if not reds:
        return ""
    oldest, newest = reds[0], reds[-1]
    older = [release for release in greens if release < oldest]
    newer = [release for release in greens if release > newest]
    holes = [release for release in greens if oldest < release < newest]
    red_minors = {minor(release) for release in reds}
    split = {minor(release) for release in greens} & red_minors
    if newer and (older or not open_below) and len(red_minors) == 1 and not split:
        return f"=={minor(oldest)}.*"
    parts = []
    if older or not open_below:
        parts.append(f">={oldest if minor(oldest) in map(minor, older) else minor(oldest)}")
    if newer:
        first = min([newer[0], *(release for release in releases if release > newest)])
        parts.append(f"<{first if minor(first) in red_minors else minor(first)}")
    for hole in holes:
        text = f"!={hole}" if minor(hole) in split else f"!={minor(hole)}.*"
        if text not in parts:
            parts.append(text)
    return ",".join(parts)


def edge(window: str, version: Version) -> Edge:
    """Returns the edge of `window` that excludes `version`."""
    part = versions.leaves_out(window, version)
    if part is None:
        raise ValueError(f"{version} is inside {window or 'every window'}")
    operator, bound = part
    if operator == "!=":
        return "hole"
    return "lower edge" if version < bound else "upper edge"


def wrong(
    records: Sequence[Record], verdict: Verdict, issues: Sequence[Issue] | ByKernel
) -> list[Wrong]:
    """Returns the faults of issues' affected releases that unexpected cells show, in the order of the issues.

    Those of a vendor's build say nothing of them: it has the vendor's changes.
    """
    red: dict[str, list[tuple[tuple[str, ...], Record]]] = defaultdict(list)
    by_kernel = ByKernel.of(issues)
    for record in verdict.unexpected_red:
        if versions.vendor_of(record.column):
            continue
        left_out = [
            (axes, issue.id)
            for issue in by_kernel.describing(record)
            if (axes := _left_out(issue, record))
        ]
        if left_out:
            axes, nearest = min(left_out, key=lambda candidate: len(candidate[0]))
            red[nearest].append((axes, record))
    green: dict[str, list[Record]] = defaultdict(list)
    for unexpected in verdict.unexpectedly_green:
        if not versions.vendor_of(unexpected.record.column):
            green[unexpected.issue.id].append(unexpected.record)
    known: dict[str, list[Record]] = defaultdict(list)
    for record, issue in [*verdict.known, *verdict.shim_failed]:
        if record.mode == "bare":
            known[issue.id].append(record)
    corrections: list[Wrong] = []
    concerned = [issue for issue in by_kernel.issues if issue.id in red or issue.id in green]
    run = _releases(records) if concerned else set()
    passed: dict[str, list[Record]] = defaultdict(list)
    for record in records if concerned else ():
        if record.outcome == "pass" and record.mode == "bare":
            for issue in by_kernel.proved_by(record):
                passed[issue.id].append(record)
    for issue in concerned:
        also = [record for axes, record in red[issue.id] if axes == ("triton",)]
        would_be = _would_be(issue, passed[issue.id], [*known[issue.id], *also], run)
        corrections += _too_narrow(issue, red[issue.id], would_be)
        corrections += _too_wide(issue, green[issue.id], known[issue.id], would_be)
    return corrections


def _left_out(issue: Issue, record: Record) -> tuple[str, ...]:
    """The axes of the issue that leave out a record which is red as the issue describes."""
    # Without a text to go by, any failure of the kernel would look like it.
    if not issue.fingerprint:
        return ()
    return tuple(axis for axis in AXES if not within(issue, record, axis))


def _too_narrow(
    issue: Issue, red: Sequence[tuple[tuple[str, ...], Record]], would_be: str
) -> Iterable[Wrong]:
    by_edge: dict[tuple[tuple[str, ...], str], list[Record]] = defaultdict(list)
    for axes, record in red:
        where = ""
        release = versions.base(triton_of(record) or "")
        if axes == ("triton",) and release:
            where = edge(issue.triton, release)
        by_edge[axes, where].append(record)
    for (axes, where), records in by_edge.items():
        seen = _seen(records, axes)
        if where == "hole":
            text = f"its affected releases {issue.triton} leave out failures: {seen}"
        elif where:
            text = f"its affected releases {issue.triton} are too narrow at the {where}: it fails on {seen} as well"
        else:
            ranges = " and ".join(_range(issue, axis) for axis in axes)
            text = f"its {ranges} are too narrow: it fails on {seen} as well"
        yield Wrong(issue, _with(text, would_be if where else ""), tuple(records))


def _too_wide(
    issue: Issue, green: Sequence[Record], red: Sequence[Record], would_be: str
) -> Iterable[Wrong]:
    rest = list(green)
    if red:
        for axis in ("lanes", "targets"):
            of = AXES[axis]
            never = {of(record) for record in rest} - {of(record) for record in red}
            records = [record for record in rest if of(record) in never]
            if records:
                text = f"its {_range(issue, axis)} are too wide: it passes on {_seen(records, (axis,))}"
                yield Wrong(issue, _with(text), tuple(records))
                rest = [record for record in rest if record not in records]
        known = {_case(record) for record in red}
        records = [record for record in rest if _case(record) not in known]
        if records:
            names = dict.fromkeys(" ".join(_case(record)).strip() for record in records)
            more = f" and {len(names) - 1} more" if len(names) > 1 else ""
            text = f"its case is too wide: {next(iter(names))}{more} passes on {_seen(records, ('triton',))}"
            yield Wrong(issue, _with(text), tuple(records))
            rest = [record for record in rest if record not in records]
    reds = {release for record in red if (release := versions.base(triton_of(record) or ""))}
    by_edge: dict[str, list[Record]] = defaultdict(list)
    for record in rest:
        release = versions.base(triton_of(record) or "")
        by_edge[_side(release, reds) if release and reds else ""].append(record)
    for where, records in by_edge.items():
        seen = _seen(records, ("triton",))
        window = issue.triton or "(all)"
        if not reds:
            text = f"its affected releases {window} pass wherever they ran: {seen}"
        elif where == "both":
            text = f"of its affected releases {window} only a part of the cells fails on {seen}: {records[0].id} passes"
        elif where == "middle":
            text = f"its affected releases {window} have a hole: it passes on {seen}"
        else:
            text = (
                f"its affected releases {window} are too wide at the {where}: it passes on {seen}"
            )
        yield Wrong(issue, _with(text, would_be if where != "both" else ""), tuple(records))


def _side(release: Version | None, reds: set[Version]) -> str:
    if release is None:
        return ""
    if release in reds:
        return "both"
    return (
        "lower edge" if release < min(reds) else "upper edge" if release > max(reds) else "middle"
    )


def _would_be(
    issue: Issue, green: Sequence[Record], red: Sequence[Record], run: set[Version]
) -> str:
    """The affected releases by the cells; empty where none was red, or where the issue has the same.

    `green` are the passes of its case, and `run` the releases that ran at all.
    """
    below = versions.within("0", issue.triton)
    made = measured(_releases(red), _releases(green), open_below=below, releases=run)
    return "" if versions.same_window(made, issue.triton) else made


def _releases(records: Sequence[Record]) -> set[Version]:
    measured = {triton_of(record) for record in records}
    return {release for text in measured if (release := versions.base(text or ""))}


def _with(text: str, would_be: str = "") -> str:
    return f"{text}. Measured: {would_be}." if would_be else f"{text}."


def _range(issue: Issue, axis: str) -> str:
    value = getattr(issue, axis)
    if axis in ("triton", "torch"):
        return f"affected releases {'of torch ' if axis == 'torch' else ''}{value}"
    return f"{axis} ({', '.join(value)})"


def _seen(records: Sequence[Record], axes: Sequence[str]) -> str:
    """`3.5.1 and 3.6.0`; for several axes `2.3.1, sm_90`."""

    def name(record: Record) -> str:
        return ", ".join(AXES[axis](record) or record.column for axis in axes)

    ordered = sorted(records, key=lambda record: versions.sort_key(triton_of(record)))
    names = list(dict.fromkeys(map(name, ordered)))
    shown = names[:6] + ([f"{len(names) - 6} more"] if len(names) > 6 else [])
    between = "; " if len(axes) > 1 else ", "
    return " and ".join(part for part in (between.join(shown[:-1]), shown[-1]) if part)


def _case(record: Record) -> tuple[str, str, str]:
    return record.kernel, record.case, record.config
