"""Reading a row of the store: SQLite keeps any value in any field, so a changed value is reported."""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Callable, Collection, Iterable, Mapping
from operator import itemgetter
from typing import Any

from crosswarp.matrix.cell.plain import MAX_ENTRIES, is_clean
from crosswarp.matrix.results.record import LANES, MODES, OUTCOMES, Record, clean, of_fields

# The fields of a plan that programs read; the rest is for people.
_LISTS = ("columns", "targets", "lanes", "modes", "kernels", "cases")
# The range of SQLite's integers.
_LARGEST = 2**63


# The columns of a cell, in the order of the table.
CELL = (
    "column", "target", "lane", "mode", "kernel", "case", "config", "outcome", "reason",
    "fingerprint", "message", "phase", "seconds", "resources", "shims", "issue",
)  # fmt: skip
_FIELDS = (*CELL, "versions")
_TYPES = {str, float}
_SECONDS, _RESOURCES, _SHIMS = map(CELL.index, ("seconds", "resources", "shims"))
_look = itemgetter(
    *map(CELL.index, ("column", "lane", "mode", "outcome", "seconds", "resources", "shims"))
)
_NO_VERSIONS: Mapping[str, Any] = {}


class WrongRow(ValueError):
    """A field has another value than crosswarp writes there."""


def text(row: sqlite3.Row | Mapping[str, Any], name: str, known: Collection[str] = ()) -> str:
    value = row[name]
    if not isinstance(value, str) or (known and value not in known):
        raise _wrong(row, name, "one of " + ", ".join(known) if known else "text")
    return value


def whole(row: sqlite3.Row, name: str, least: int = 0) -> int:
    value = row[name]
    if not isinstance(value, int) or not least <= value < _LARGEST:
        raise _wrong(row, name, "an integer")
    return value


def number(row: sqlite3.Row, name: str) -> float:
    value = row[name]
    if not isinstance(value, (int, float)) or not math.isfinite(value):
        raise _wrong(row, name, "a number")
    return float(value)


def optional(row: sqlite3.Row, name: str, read: Callable[[sqlite3.Row, str], Any]) -> Any:
    return None if row[name] is None else read(row, name)


def texts(row: sqlite3.Row, name: str) -> tuple[str, ...]:
    noted = _json(row, name)
    if not _all_text(noted):
        raise _wrong(row, name, "a list of texts")
    return tuple(noted)


def mapping(row: sqlite3.Row, name: str) -> dict[str, Any]:
    value = _json(row, name)
    if not isinstance(value, dict):
        raise _wrong(row, name, "an object")
    return value


def versions(row: sqlite3.Row, name: str) -> dict[str, Any]:
    stored = mapping(row, name)
    if not all(value is None or isinstance(value, str) for value in stored.values()):
        raise _wrong(row, name, "an object of versions")
    return stored


def fields(row: sqlite3.Row, names: Iterable[str]) -> tuple[Any, ...]:
    """The values of fields of any table but `runs` and `cells`; those that are not listed are texts."""
    return tuple(_READERS.get(name, text)(row, name) for name in names)


def plan(row: sqlite3.Row, name: str) -> dict[str, Any]:
    stored = mapping(row, name)
    shard = stored.get("shard", [1, 1])
    sound = (
        all(_all_text(stored.get(key, [])) for key in _LISTS)
        and isinstance(stored.get("suite"), (str, type(None)))
        and isinstance(stored.get("commit", ""), str)
        and isinstance(stored.get("library", {}), dict)
        and isinstance(shard, list)
        and [type(part) for part in shard] == [int, int]
        and 1 <= shard[0] <= shard[1]
    )
    if not sound:
        raise _wrong(row, name, "a plan")
    return stored


_READERS: Mapping[str, Callable[[sqlite3.Row, str], Any]] = {
    **dict.fromkeys(("run", "source", "planned", "supported"), whole),
    **dict.fromkeys(("requirements", "overrides"), texts),
    "lane": lambda row, name: text(row, name, LANES), "seconds": number, "versions": versions,
}  # fmt: skip


def records(
    fetched: Iterable[sqlite3.Row], sessions: Mapping[tuple[str, str], Mapping[str, Any]]
) -> list[Record]:
    """The records of rows that have the columns of `CELL`; `sessions` has the versions of each column and lane."""
    made = []
    # Tens of thousands of cells of a run have the same few texts: each is stored once, and its JSON is read once.
    shared: dict[Any, Any] = {}
    resources: dict[str, dict[str, Any]] = {}
    shims: dict[str, tuple[str, ...]] = {}
    for row in fetched:
        values: list[Any] = list(map(shared.setdefault, row, row))
        column, lane, mode, outcome, seconds, resource_text, shim_text = _look(values)
        if (
            set(map(type, values)) != _TYPES or lane not in LANES or mode not in MODES or outcome not in OUTCOMES
            or not math.isfinite(seconds)
        ):  # fmt: skip
            # Some value is not as it was written: the reader of a single field names it.
            _read_each(row)
            values[_SECONDS] = float(seconds)
        if resource_text not in resources:
            resources[resource_text] = mapping(row, "resources")
        if shim_text not in shims:
            shims[shim_text] = texts(row, "shims")
        values[_RESOURCES], values[_SHIMS] = resources[resource_text], shims[shim_text]
        values.append(sessions.get((column, lane), _NO_VERSIONS))
        made.append(of_fields(zip(_FIELDS, values)))
    return made


def _read_each(row: sqlite3.Row) -> None:
    """Raises WrongRow for the first field with another value than crosswarp writes there."""
    known = {"lane": LANES, "mode": MODES, "outcome": OUTCOMES}
    for name in CELL:
        if name == "seconds":
            number(row, name)
        else:
            text(row, name, known.get(name, ()))


def _json(row: sqlite3.Row, name: str) -> Any:
    value = text(row, name)
    try:
        parsed = json.loads(value)
        # A text this short has no more entries than `clean` leaves.
        if isinstance(parsed, (dict, list)) and len(value) < MAX_ENTRIES and is_clean(parsed):
            return parsed
        return clean(parsed)
    except (ValueError, RecursionError):
        raise _wrong(row, name, "JSON") from None


def _all_text(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _wrong(row: sqlite3.Row | Mapping[str, Any], name: str, wanted: str) -> WrongRow:
    return WrongRow(
        f"{name} is no {wanted.removeprefix('a ').removeprefix('an ')}: {row[name]!r:.60}"
    )
