"""A baseline: the results of a run, as a small text file to be committed, reviewed and compared with later runs.

Sorted JSON without dates, durations and paths, so that two runs with equal results write the same bytes. Each kernel,
case and lane has one line with its results; columns and targets with equal results share it:

    [["triton-3.0.0","triton-3.1.0"],["sm_90"],{"both":{"":{"launches":{"_softmax_kernel":[[4,30,0,0]]}}}}]

The last part is mode → configuration → cell ("both": bare and shimmed agree). A cell is its outcome, or an object with
the outcome unless that is `pass`, and the fields that a comparison needs: why an autotuner left it out, fingerprint,
shims, launches and times. A launch has warps, registers, shared memory, stack, and spills where the binary has them.
Where instructions were counted, it also has those that touch scratch memory, bytes of code, bytes an access moves, the
kind of tensor core, barriers, and accesses to shared memory.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from crosswarp.matrix import reading
from crosswarp.matrix.cell.protocol import DROPPED, LEFT_OUT
from crosswarp.matrix.errors import ConfigError, UsageError
from crosswarp.matrix.facts import datafile
from crosswarp.matrix.results.figures import launches
from crosswarp.matrix.results.record import LANES, MODES, Record, of_fields

# Raised when a field changes its meaning or goes away; a file of another format is refused, not guessed at.
FORMAT = 1
_FIGURES = (
    "registers", "shared", "stack", "spills", "scratch", "code", "access", "kind", "barriers", "exchanges",
)  # fmt: skip
# Warps, registers, shared memory and stack are written even if they are not known.
_LEAST = 4
_TIMES = ("median", "low", "high", "bytes", "of_copy")
_NO_VERSIONS: Mapping[str, str] = {}
_RESOURCES = ("launches", "timing")
# The fields of a record of which a baseline says nothing.
_EMPTY: Mapping[str, Any] = vars(Record("", "", "", "", "", ""))
_AGAIN = "Take the committed file again, or write it anew: crosswarp baseline write --run RUN FILE."


def write(path: Path, records: Sequence[Record]) -> None:
    text = dumped(records)
    try:
        # committed files are for all to read
        datafile.replace(path, text, 0o644)
    except OSError as error:
        raise UsageError(
            f"{path}: {error.strerror or error}. Name a file that can be written."
        ) from None


def onto(old: Sequence[Record], new: Sequence[Record], all_cases: bool = True) -> list[Record]:
    """Returns `old` with the results of `new` for each kernel, column, target and lane that it ran.

    Without `all_cases` the run had only some of a kernel's, and `old` says more of the others.
    """

    def place(record: Record) -> tuple[str, ...]:
        case = "" if all_cases else record.case
        return record.column, record.target, record.lane, record.mode, record.kernel, case

    again = {place(record) for record in new}
    return [*(record for record in old if place(record) not in again), *new]


def dumped(records: Sequence[Record]) -> str:
    """The text of the file."""
    versions: dict[str, Mapping[str, Any]] = {}
    results: dict[tuple[str, str, str], dict[tuple[str, str], dict[str, dict[str, Any]]]]
    results = defaultdict(lambda: defaultdict(lambda: {mode: {} for mode in MODES}))
    for record in records:
        versions.setdefault(record.column, {})
        if record.versions:
            versions[record.column] = record.versions
        place = (record.kernel, record.case, record.lane)
        results[place][record.column, record.target][record.mode][record.config] = _cell(record)
    columns = {
        column: {name: text for name, text in measured.items() if isinstance(text, str)}
        for column, measured in versions.items()
    }
    lines = ["{", f'"crosswarp_baseline": {FORMAT},', '"columns": {']
    lines += _joined(f"{_text(name)}: {_text(columns[name])}" for name in sorted(columns))
    lines += ["},", '"cells": {']
    return "\n".join([*lines, *_kernels(results), "}", "}"]) + "\n"


def read(path: Path) -> list[Record]:
    """The records of a baseline. Strict: anything not understood is an error."""
    # Imported here: the one that is installed is not validated again, and pydantic takes a tenth of a second.
    from crosswarp.matrix.results.baseline_file import BaselineFile

    document = _document(path, _unique)
    datafile.validated(path, document, BaselineFile, _AGAIN)
    records = Table(document).records()
    if len({record.id for record in records}) < len(records):
        raise ConfigError(f"{path}: the same cell stands twice, as after a merge. {_AGAIN}")
    return records


def installed(path: Path) -> Table:
    """The baseline of our own package: the tests validate the file, and it is not validated each time."""
    return Table(_document(path))


def _document(path: Path, pairs: Callable[[list[tuple[str, Any]]], Any] | None = None) -> Any:
    try:
        document = json.loads(reading.text(path), object_pairs_hook=pairs)
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
    return document


class Entry(NamedTuple):
    """A line of the file: the results of a case, with the columns and targets that they hold for."""

    kernel: str
    case: str
    lane: str
    columns: list[str]
    targets: list[str]
    # By mode or "both", then by configuration: the outcome, or the fields of `Cell`.
    results: Mapping[str, Mapping[str, Any]]

    @property
    def modes(self) -> tuple[str, ...]:
        return MODES if "both" in self.results else tuple(self.results)

    @property
    def cells(self) -> int:
        """The number of records in the line."""
        each = sum(
            len(cells) * (len(MODES) if modes == "both" else 1)
            for modes, cells in self.results.items()
        )
        return len(self.columns) * len(self.targets) * each


class Table:
    """A baseline as it was read. It has few lines and many records, which are made when they are asked for."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._versions: Mapping[str, Mapping[str, str]] = document["columns"]
        self._read: dict[str, Mapping[str, Any]] = {}
        self.entries = [
            Entry(kernel, case, lane, *entry)
            for kernel, cases in document["cells"].items()
            for case, lanes in cases.items()
            for lane, entries in lanes.items()
            for entry in entries
        ]

    def _fields(self, cell: str | Mapping[str, Any], brief: bool) -> Mapping[str, Any]:
        """As `_fields`; equal cells share one result."""
        if brief and not isinstance(cell, str):
            return _fields({name: cell[name] for name in cell if name not in _RESOURCES})
        key = cell if isinstance(cell, str) else repr(cell)
        if key not in self._read:
            self._read[key] = _fields(cell)
        return self._read[key]

    def versions(self, column: str) -> Mapping[str, str]:
        """Returns the versions that the column imported; nothing where the file does not say."""
        return self._versions.get(column, _NO_VERSIONS)

    def records(self, only: str | None = None, brief: bool = False) -> list[Record]:
        """All records, or those of the column `only`; `brief`: without their resources."""
        made = []
        for entry in self.entries:
            columns = [column for column in entry.columns if only in (None, column)]
            if not columns:
                continue
            # Read once: most of the file's cells are some ten records each.
            case = {"lane": entry.lane, "kernel": entry.kernel, "case": entry.case}
            cells = [
                {**_EMPTY, **case, "mode": mode, "config": config, **self._fields(cell, brief)}
                for mode, config, cell in _each(entry.results)
            ]
            for column in columns:
                versions = self.versions(column)
                for target in entry.targets:
                    place = {"column": column, "target": target, "versions": versions}
                    made += [of_fields(cell, place) for cell in cells]
        return made


def _each(by_mode: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, str, Any]]:
    for modes, cells in by_mode.items():
        for mode in MODES if modes == "both" else (modes,):
            for config, cell in cells.items():
                yield mode, config, cell


def _fields(cell: str | Mapping[str, Any]) -> dict[str, Any]:
    """Returns the fields of a cell in a record."""
    if isinstance(cell, str):
        return {"outcome": cell}
    resources: dict[str, Any] = {}
    if cell.get("launches"):
        resources["launches"] = [
            {"kernel": kernel, "num_warps": figures[0], **dict(zip(_FIGURES, figures[1:]))}
            for kernel, each in cell["launches"].items()
            for figures in each
        ]
    if timing := cell.get("timing"):
        resources["timing"] = {
            **{name: float(timing[name]) for name in _TIMES},
            "alone": timing["alone"],
            "host_bound": timing.get("host_bound", False),
        }
    return {
        "outcome": cell.get("outcome", "pass"), "reason": cell.get("reason", ""),
        "fingerprint": cell.get("fingerprint", ""), "shims": tuple(cell.get("shims", ())), "resources": resources,
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


def _kernels(results: Mapping[tuple[str, str, str], Mapping[tuple[str, str], Any]]) -> list[str]:
    tree: dict[str, dict[str, dict[str, list[str]]]] = defaultdict(lambda: defaultdict(dict))
    for (kernel, case, lane), places in results.items():
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
    """Returns lines `[columns, targets, found]`; columns with the same results on the same targets share one."""
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
    """Returns `pairs` as a dict; refuses equal names, as after a merge, of which json silently keeps the last."""
    by_name = dict(pairs)
    if len(by_name) < len(pairs):
        counts = Counter(name for name, _ in pairs)
        twice = next(name for name, count in counts.items() if count > 1)
        raise ValueError(f'"{twice}" stands twice in one place')
    return by_name


def _joined(lines: Iterable[str]) -> list[str]:
    made = list(lines)
    return [*(f"{line}," for line in made[:-1]), *made[-1:]]


def _text(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), sort_keys=True, allow_nan=False)


def _number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
