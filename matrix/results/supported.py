"""Which releases a suite, or one kernel of it, was measured to run on, as a version specifier.

Pure functions over the records of a run. A release is a published pair of Triton and torch, in one of four states:

| state         | its cells                                                                                     |
| ------------- | --------------------------------------------------------------------------------------------- |
| `red`         | at least one is red, known upstream or not, whatever else is missing                          |
| `unknown`     | none is red, and one that was planned, or that another column has, did not run                |
| `green`       | none is red, all ran or were declared unsupported, and at least one passed                    |
| `unsupported` | all were declared unsupported                                                                 |

`unsupported` is no failure: a suite stays green where some of its kernels declare that the release lacks what they
need, and those are named (`lacking`). The range of such a kernel itself leaves the release out: nothing of it works.

The specifier admits every green release and no red or unsupported one:
- the floor is the oldest green release, to the patch: `>=2.3.1`, because nothing is known of 2.3.0;
- the ceiling is open above the newest green release, unless the table knows a newer one: that one and all later ones
  are left out (`<3.9`) whether it is red, unsupported or was not run. Beyond what was measured nothing is assumed;
- a hole is the whole minor series (`!=3.2.*`) unless another patch of it is green, and then the patch (`!=3.3.0`). The
  table has one column a minor, its last patch: where that one is red, the earlier patches, which were not tried, count
  as no better. A later patch that fixes it becomes the column of its minor, and the hole closes with the next run;
- a release between two green ones that was not run is left in, and must be named wherever the specifier is shown
  (`inside`): a specifier has no way to say "unknown".

Columns off the official pair, or with another numpy or Python, and builds that are no release, take no part; they are
named too (`left_out`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from crosswarp.matrix import versions
from crosswarp.matrix.facts.columns import Column
from crosswarp.matrix.results.record import LANES, MODES, Record
from crosswarp.matrix.results.vocabulary import RELEASES
from crosswarp.matrix.results.vocabulary import Release as State
from crosswarp.matrix.versions import Version, minor

# From the one that decides to the one that does not.
STATES: tuple[State, ...] = tuple(RELEASES)
# Stands for all cases of a kernel in a column that never listed them.
_ALL = "*"

Item = tuple[str, str, str, str]


@dataclass(frozen=True)
class Release:
    triton: Version
    # None where neither the table nor a cell says which.
    torch: Version | None
    # Those that measured it; none when it was not run.
    columns: tuple[str, ...] = ()


@dataclass(frozen=True)
class Measured:
    """The results of one release in one mode."""

    release: Release
    state: State
    red: tuple[Record, ...] = ()
    # Cells that did not run, though they were planned or another column has them.
    missing: int = 0
    # Targets, then kernels, of which every cell was declared unsupported, beside others that passed.
    lacking: tuple[str, ...] = ()


@dataclass(frozen=True)
class Span:
    """A floor, a ceiling and holes. `specifier` is empty when nothing is green."""

    specifier: str
    floor: Version | None = None
    # The newest green release.
    ceiling: Version | None = None
    holes: tuple[Version, ...] = ()
    # Unknown releases that the specifier admits.
    inside: tuple[Version, ...] = ()
    # The nearest release beyond each end, with its state; None: nothing older, or newer, is known.
    below: tuple[Version, State] | None = None
    above: tuple[Version, State] | None = None


@dataclass(frozen=True)
class Range:
    """The releases that support a suite or a kernel, in one mode."""

    releases: tuple[Measured, ...]
    triton: Span
    torch: Span


@dataclass(frozen=True)
class Supported:
    # By mode.
    suite: Mapping[str, Range]
    # By kernel, the worst first, then by mode.
    kernels: Mapping[str, Mapping[str, Range]]
    # Columns that name no release, with why.
    left_out: Mapping[str, str]


def supported(
    records: Sequence[Record],
    table: Sequence[Column],
    planned: Iterable[str] = (),
    short: Iterable[str] = (),
) -> Supported:
    """The ranges of the suite and of each kernel in `records`.

    `table` knows which releases there are, `planned` names the run's columns, and `short` those which lack cells that
    no other column shows either.
    """
    names = list(dict.fromkeys([*planned, *(record.column for record in records)]))
    releases, left_out = _releases(names, records, table)
    lacks_cells = set(short)
    by_kernel: dict[str, list[Record]] = defaultdict(list)
    for record in records:
        if record.kernel != _ALL:
            by_kernel[record.kernel].append(record)
    modes = [mode for mode in MODES if any(record.mode == mode for record in records)]
    kernels = {
        kernel: {mode: _range(releases, mine, mode, lacks_cells) for mode in modes}
        for kernel, mine in by_kernel.items()
    }
    return Supported(
        suite={mode: _range(releases, records, mode, lacks_cells) for mode in modes},
        kernels=dict(sorted(kernels.items(), key=_worst_first)),
        left_out=left_out,
    )


def short(records: Sequence[Record], planned: Mapping[tuple[str, str], int]) -> set[str]:
    """Columns that planned more cases in a lane than any column has cells of; the missing ones cannot be named.

    `planned` counts the cases by column and lane, as `Store.planned` does.
    """
    known: dict[str, set[str]] = {lane: set() for lane in LANES}
    for record in records:
        if record.case != _ALL:
            known[record.lane].add(record.item)
    return {column for (column, lane), count in planned.items() if count > len(known[lane])}


def span(states: Sequence[tuple[Version, State]]) -> Span:
    """The specifier for releases in these states; the rules stand above."""
    by_version = dict(sorted(states))
    green = [version for version, state in by_version.items() if state == "green"]
    if not green:
        return Span("")
    floor, ceiling = green[0], green[-1]
    holes = [
        version
        for version, state in by_version.items()
        if floor < version < ceiling and state in ("red", "unsupported")
    ]
    older = [version for version in by_version if version < floor]
    newer = [version for version in by_version if version > ceiling]
    series = {minor(version) for version in green}
    parts = [f">={_plain(floor)}"]
    for hole in holes:
        left = f"!={hole}" if minor(hole) in series else f"!={minor(hole)}.*"
        if left not in parts:
            parts.append(left)
    if newer:
        # A minor without a green release is left out from its first patch.
        above = newer[0]
        parts.append(f"<{_plain(above) if minor(above) == minor(ceiling) else minor(above)}")
    specifier = ",".join(parts)
    return Span(
        specifier,
        floor,
        ceiling,
        tuple(holes),
        inside=tuple(
            version
            for version, state in by_version.items()
            if state == "unknown" and versions.within(version, specifier)
        ),
        below=(older[-1], by_version[older[-1]]) if older else None,
        above=(newer[0], by_version[newer[0]]) if newer else None,
    )


def _range(
    releases: Sequence[Release], records: Sequence[Record], mode: str, short: set[str]
) -> Range:
    mine: dict[str, list[Record]] = defaultdict(list)
    for record in records:
        if record.mode == mode:
            mine[record.column].append(record)
    expected = {_item(r) for each in mine.values() for r in each if r.case != _ALL}
    measured = tuple(
        _measured(
            release,
            [record for column in release.columns for record in mine[column]],
            expected,
            any(column in short for column in release.columns),
        )
        for release in releases
    )
    torch: dict[Version, State] = {}
    for result in measured:
        if result.release.torch is not None:
            both = (result.state, torch.get(result.release.torch, result.state))
            torch[result.release.torch] = min(both, key=STATES.index)
    triton = [(result.release.triton, result.state) for result in measured]
    return Range(measured, span(triton), span(list(torch.items())))


def _measured(
    release: Release, records: Sequence[Record], expected: set[Item], short: bool
) -> Measured:
    red = tuple(record for record in records if record.red)
    not_run = {_item(record) for record in records if record.outcome == "not-run"}
    missing = len(expected - {_item(record) for record in records} | not_run)
    state: State
    if red:
        state = "red"
    elif missing or short or not records:
        state = "unknown"
    else:
        state = "green" if any(record.ran for record in records) else "unsupported"
    lacking = _lacking(records) if state != "unsupported" else ()
    return Measured(release, state, red, missing, lacking)


def _lacking(records: Sequence[Record]) -> tuple[str, ...]:
    """A target that lacks everything is named instead of every kernel that has cells on it alone."""
    targets = {record.target for record in records} - {r.target for r in records if _there(r)}
    rest = [record for record in records if record.target not in targets]
    kernels = {record.kernel for record in rest} - {r.kernel for r in rest if _there(r)}
    return (*sorted(targets), *sorted(kernels))


def _there(record: Record) -> bool:
    return record.outcome != "unsupported"


def _item(record: Record) -> Item:
    return record.target, record.lane, record.kernel, record.case


def _releases(
    names: Sequence[str], records: Sequence[Record], table: Sequence[Column]
) -> tuple[list[Release], dict[str, str]]:
    """Returns the releases that ran and the others of the table, oldest first; and the columns that name no release."""
    official = {column.id: column for column in table if column.official}
    torches = {
        release: column.torch
        for column in official.values()
        if (release := versions.parse(column.triton))
    }
    pairs = {(release, versions.parse(torch)) for release, torch in torches.items()}
    columns_by_release: dict[Version, dict[str, str | None]] = {release: {} for release in torches}
    left_out: dict[str, str] = {}
    measured = {record.column: record.versions for record in records if record.versions}
    for name in names:
        triton, torch = _pair(name, official, measured.get(name, {}))
        if why := _no_release(name, triton, torch, pairs):
            left_out[name] = why
            continue
        version = versions.exact(triton)
        columns_by_release.setdefault(version, {})[name] = torch
        torches.setdefault(version, torch)
    releases = []
    for version in sorted(columns_by_release):
        torch = torches[version]
        releases.append(Release(version, versions.parse(torch), tuple(columns_by_release[version])))
    return releases, left_out


def _pair(
    name: str, official: Mapping[str, Column], measured: Mapping[str, object]
) -> tuple[str | None, str | None]:
    """Returns the version in the column's name; for a name without one, the measured version."""
    if name in official:
        return official[name].triton, official[name].torch
    torch = versions.base(str(measured.get("torch")))
    triton = str(measured.get("triton") or "") or None
    if name.startswith("triton-") or triton is None:
        triton = versions.of_column(name)
    return triton, str(torch) if torch else None


def _no_release(
    name: str, triton: str | None, torch: str | None, pairs: set[tuple[Version, Version | None]]
) -> str:
    """Why the column takes no part, or nothing."""
    version = versions.parse(triton)
    if version is None:
        return "it did not run, so its Triton is not known"
    if version.is_prerelease or version.local:
        return f"Triton {triton} is a local build, no release"
    swapped = versions.swapped(name)
    by_name = name.startswith("triton-") and "torch" not in swapped
    if not by_name and (version, versions.parse(torch)) not in pairs:
        return f"Triton {triton} with torch {torch or 'unknown'} is off the official pair"
    if swapped:
        replacements = ", ".join(f"{axis} {version}" for axis, version in swapped.items())
        return f"it has {replacements} in place of the release's own"
    return ""


def _plain(version: Version) -> str:
    """`3.0` for 3.0.0: to a specifier they are the same."""
    return minor(version) if str(version) == f"{minor(version)}.0" else str(version)


def _worst_first(entry: tuple[str, Mapping[str, Range]]) -> tuple[list[int], str]:
    kernel, ranges = entry
    green = [
        sum(release.state == "green" for release in measured_range.releases)
        for measured_range in ranges.values()
    ]
    # A failure that compat does not fix is worst.
    return green[::-1], kernel
