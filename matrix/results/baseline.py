"""A baseline: what a run found, as a small text file to be committed, reviewed and compared with later runs.

JSON, sorted, without dates, durations and paths, so that two runs which found the same write the same bytes. One line
for each kernel, case and lane, and what was found there; columns and targets that found the same share it:

    [["triton-3.0.0","triton-3.1.0"],["sm_90"],{"both":{"":{"launches":{"_softmax_kernel":[[4,30,0,0]]}}}}]

The last part is mode → configuration → cell ("both": bare and shimmed agree). A cell is its outcome, or an object with
the outcome unless that is `pass`, and with what a comparison needs: why an autotuner left it out, fingerprint, shims,
launches (warps, registers, shared memory, stack, spills where the binary tells; then, where instructions were counted,
those that touch scratch memory, bytes of code, bytes an access moves, the kind of tensor core, barriers, and accesses
to shared memory) and times.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from crosswarp.matrix import reading
from crosswarp.matrix.cell.judging.tuning import DROPPED, LEFT_OUT
from crosswarp.matrix.errors import ConfigError, UsageError
from crosswarp.matrix.facts import datafile
from crosswarp.matrix.results.figures import launches
from crosswarp.matrix.results.record import LANES, MODES, Record
from crosswarp.matrix.results.vocabulary import Outcome

# Raised when a field changes its meaning or goes away; a file of another format is refused, not guessed at.
FORMAT = 1
_FIGURES = (
    "registers", "shared", "stack", "spills", "scratch", "code", "access", "kind", "barriers", "exchanges",
)  # fmt: skip
# The keys of figures.KINDS.
Kind = Literal["none", "mma", "mfma", "wmma", "wgmma", "tcgen05"]
# Warps, registers, shared memory and stack are written even if they are not known.
_LEAST = 4
_TIMES = ("median", "low", "high", "bytes", "of_copy")
_AGAIN = "Take the committed file again, or write it anew: crosswarp baseline write --run RUN FILE."

Figure = Annotated[int, Field(ge=0)] | Annotated[float, Field(ge=0)] | Kind | None
Launch = Annotated[list[Figure], Field(min_length=3, max_length=1 + len(_FIGURES))]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


class Timing(_Strict):
    median: float
    low: float
    high: float
    bytes: float
    of_copy: float
    alone: bool
    host_bound: bool = False


class Cell(_Strict):
    outcome: Outcome = "pass"
    reason: Literal["", "configuration dropped", "dropped by the autotuner"] = ""
    fingerprint: str = ""
    shims: list[str] = []
    launches: dict[str, list[Launch]] = {}
    timing: Timing | None = None


Cells = dict[str, Outcome | Cell]
Found = dict[Literal["both", "bare", "shimmed"], Cells]
# Not strict about its own type: JSON has no tuples.
Entry = Annotated[tuple[list[str], list[str], Found], Field(strict=False)]


class BaselineFile(_Strict):
    crosswarp_baseline: Literal[1]
    columns: dict[str, dict[str, str]]
    cells: dict[
        str, dict[str, dict[Literal["compile", "emulate", "interpret", "device"], list[Entry]]]
    ]


def write(path: Path, records: Sequence[Record]) -> None:
    text = dumped(records)
    try:
        # what is committed is for all to read
        datafile.replace(path, text, 0o644)
    except OSError as error:
        raise UsageError(
            f"{path}: {error.strerror or error}. Name a file that can be written."
        ) from None


def onto(old: Sequence[Record], new: Sequence[Record]) -> list[Record]:
    """What `old` says, with what `new` says of each kernel that it ran in a column, on a target and in a lane."""

    def place(record: Record) -> tuple[str, ...]:
        return record.column, record.target, record.lane, record.mode, record.kernel

    again = {place(record) for record in new}
    return [*(record for record in old if place(record) not in again), *new]


def dumped(records: Sequence[Record]) -> str:
    """The text of the file."""
    versions: dict[str, Mapping[str, Any]] = {}
    found: dict[tuple[str, str, str], dict[tuple[str, str], dict[str, dict[str, Any]]]]
    found = defaultdict(lambda: defaultdict(lambda: {mode: {} for mode in MODES}))
    for record in records:
        versions.setdefault(record.column, {})
        if record.versions:
            versions[record.column] = record.versions
        place = (record.kernel, record.case, record.lane)
        found[place][record.column, record.target][record.mode][record.config] = _cell(record)
    columns = {
        column: {name: text for name, text in measured.items() if isinstance(text, str)}
        for column, measured in versions.items()
    }
    lines = ["{", f'"crosswarp_baseline": {FORMAT},', '"columns": {']
    lines += _joined(f"{_text(name)}: {_text(columns[name])}" for name in sorted(columns))
    lines += ["},", '"cells": {']
    return "\n".join([*lines, *_kernels(found), "}", "}"]) + "\n"


def read(path: Path) -> list[Record]:
    """The records that a baseline stands for. Strict: what is not understood is an error."""
    try:
        document = json.loads(reading.text(path), object_pairs_hook=_unique)
    except FileNotFoundError:
        raise ConfigError(
            f"{path}: there is no such baseline. Write one: crosswarp baseline write FILE."
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read ({error}). Check the file.") from None
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: not a baseline: {error}. {_AGAIN}") from None
    if not isinstance(document, dict) or "crosswarp_baseline" not in document:
        raise ConfigError(f"{path}: not a baseline: it has no crosswarp_baseline. {_AGAIN}")
    if document["crosswarp_baseline"] != FORMAT:
        raise ConfigError(
            f"{path}: a baseline of format {document['crosswarp_baseline']!r}; this crosswarp reads {FORMAT}. Use the "
            "crosswarp that wrote it, or write it anew: crosswarp baseline write --run RUN FILE."
        )
    records = list(_records(datafile.validated(path, document, BaselineFile, _AGAIN)))
    if len({record.id for record in records}) < len(records):
        raise ConfigError(f"{path}: the same cell stands twice, as after a merge. {_AGAIN}")
    return records


def _records(file: BaselineFile) -> Iterator[Record]:
    for kernel, cases in file.cells.items():
        for case, lanes in cases.items():
            for lane, entries in lanes.items():
                for columns, targets, found in entries:
                    # Read once: most of the file's cells stand for some ten records each.
                    cells = [(mode, config, _fields(cell)) for mode, config, cell in _each(found)]
                    for column in columns:
                        versions = file.columns.get(column, {})
                        for target in targets:
                            for mode, config, values in cells:
                                yield Record(
                                    column=column, target=target, lane=lane, mode=mode, kernel=kernel, case=case,
                                    config=config, versions=versions, **values,
                                )  # fmt: skip


def _each(found: Found) -> Iterator[tuple[str, str, Outcome | Cell]]:
    for modes, cells in found.items():
        for mode in MODES if modes == "both" else (modes,):
            for config, cell in cells.items():
                yield mode, config, cell


def _fields(cell: Outcome | Cell) -> dict[str, Any]:
    """What a record holds of a cell."""
    if isinstance(cell, str):
        return {"outcome": cell}
    resources: dict[str, Any] = {}
    if cell.launches:
        resources["launches"] = [
            {"kernel": kernel, "num_warps": figures[0]}
            | {name: figure for name, figure in zip(_FIGURES, figures[1:])}
            for kernel, each in cell.launches.items()
            for figures in each
        ]
    if cell.timing:
        resources["timing"] = cell.timing.model_dump()
    return {
        "outcome": cell.outcome, "reason": cell.reason, "fingerprint": cell.fingerprint, "shims": tuple(cell.shims),
        "resources": resources,
    }  # fmt: skip


def _cell(record: Record) -> str | dict[str, Any]:
    made: dict[str, Any] = {}
    if record.reason in (DROPPED, LEFT_OUT):
        made["reason"] = record.reason
    if record.red:
        made["fingerprint"] = record.fingerprint
    if record.shims:
        made["shims"] = sorted(record.shims)
    launched: dict[str, list[list[Any]]] = defaultdict(list)
    if record.outcome == "pass":
        for (kernel, warps), each in sorted(launches(record).items()):
            for figures in each:
                line = [warps, *(figures.get(name) for name in _FIGURES)]
                while len(line) > _LEAST and line[-1] is None:
                    line.pop()
                launched[kernel].append(line)
    if launched:
        made["launches"] = launched
    timing = record.resources.get("timing")
    if isinstance(timing, Mapping) and all(_number(timing.get(name)) for name in _TIMES):
        made["timing"] = {name: float(f"{timing[name]:.4g}") for name in _TIMES}
        made["timing"]["alone"] = timing.get("alone") is True
        if timing.get("host_bound") is True:
            made["timing"]["host_bound"] = True
    if not made:
        return record.outcome
    return made if record.outcome == "pass" else {"outcome": record.outcome, **made}


def _kernels(found: Mapping[tuple[str, str, str], Mapping[tuple[str, str], Any]]) -> list[str]:
    tree: dict[str, dict[str, dict[str, list[str]]]] = defaultdict(lambda: defaultdict(dict))
    for (kernel, case, lane), places in found.items():
        tree[kernel][case][lane] = _entries(places)
    return _braced(
        tree,
        lambda cases: _braced(
            cases,
            lambda lanes: [
                line
                for number, lane in enumerate(sorted(lanes, key=LANES.index), 1)
                for line in [
                    f"{_text(lane)}: [",
                    *_joined(lanes[lane]),
                    "]," if number < len(lanes) else "]",
                ]
            ],
        ),
    )


def _braced(tree: Mapping[str, Any], inner: Any) -> list[str]:
    lines = []
    for number, name in enumerate(sorted(tree), 1):
        lines += [f"{_text(name)}: {{", *inner(tree[name]), "}," if number < len(tree) else "}"]
    return lines


def _entries(places: Mapping[tuple[str, str], Mapping[str, Any]]) -> list[str]:
    """`[columns, targets, found]`, a line each: columns that found the same on the same targets share one."""
    targets: dict[tuple[str, str], list[str]] = defaultdict(list)
    for (column, target), modes in sorted(places.items()):
        bare, shimmed = (modes[mode] for mode in MODES)
        both = {"both": bare} if bare == shimmed else {m: c for m, c in modes.items() if c}
        targets[column, _text(both)].append(target)
    columns: dict[tuple[str, str], list[str]] = defaultdict(list)
    for (column, text), on in targets.items():
        columns[_text(on), text].append(column)
    return sorted(f"[{_text(names)},{on},{text}]" for (on, text), names in columns.items())


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Of two equal names json would keep the last without a word, as after a merge."""
    found = dict(pairs)
    if len(found) < len(pairs):
        counts = Counter(name for name, _ in pairs)
        twice = next(name for name, count in counts.items() if count > 1)
        raise ValueError(f'"{twice}" stands twice in one place')
    return found


def _joined(lines: Iterable[str]) -> list[str]:
    made = list(lines)
    return [*(f"{line}," for line in made[:-1]), *made[-1:]]


def _text(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), sort_keys=True, allow_nan=False)


def _number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
