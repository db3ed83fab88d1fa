"""The language table: the measured contents of `triton.language` in each release, in language.json.

The file is made by `crosswarp language --write` and read by everything else. One line for a name and for a probe; the
releases that agree share an entry, written as the ends of each run of columns (`2.3.1 3.1.0..3.9.0`). A failure is
written as a digest of its text, because many names fail for one reason.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Annotated, Literal, TypeVar

from crosswarp.matrix import versions
from crosswarp.matrix.cell.spelled import parameters
from crosswarp.matrix.errors import ConfigError, UsageError
from crosswarp.matrix.facts import datafile
from crosswarp.matrix.facts.validators import Rule, Strict

DEFAULT_FILE = Path(__file__).with_name("language.json")
# A current NVIDIA and a current AMD target; a probe's result in the interpreter is listed beside them.
TARGETS = ("sm_90", "gfx942")
INTERPRETER = "interpreter"
# The prefix of names that libraries use from Triton beside its language: those have their full name.
HOST = "triton."
PASS = "pass"
# Raised when a field changes its meaning or goes away.
FORMAT = 1
_AGAIN = "Take the committed file again, or make it anew: crosswarp language --write."

T = TypeVar("T")
KIND = Literal["function", "method", "type", "value", "module", "option"]
Place = Literal["sm_90", "gfx942", "interpreter"]


@dataclass(frozen=True)
class Name:
    kind: str
    signature: str


@dataclass(frozen=True)
class Release:
    """The content of one release: its names, and for each probe and place `pass` or how it failed.

    `about` has the versions that were asked; `host`, where the names of the host side were collected in another way.
    """

    about: Mapping[str, str]
    names: Mapping[str, Name]
    probes: Mapping[str, Mapping[str, str]]


# By version of Triton, oldest first.
Table = Mapping[str, Release]


# Releases, kind, signature.
_Entry = tuple[str, KIND, str]


@dataclass(frozen=True)
class TableFile(Strict):
    crosswarp_language: Literal[1]
    columns: Annotated[dict[str, dict[str, str]], Rule(min_length=1)]
    names: dict[str, list[_Entry]]
    # Place -> outcome -> releases.
    probes: dict[str, dict[Place, dict[str, str]]]
    # The outcomes other than `pass`: digest -> text.
    failures: dict[str, str]


def load(path: Path = DEFAULT_FILE) -> Table:
    """The table in `path`. Raises ConfigError for a file that is no table, or contradicts itself."""
    return _packaged() if path == DEFAULT_FILE else _read(path)


@cache
def _packaged() -> Table:
    return _read(DEFAULT_FILE)


def _read(path: Path) -> Table:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError(f"{path}: there is no such file. {_AGAIN}") from None
    except (OSError, UnicodeDecodeError, ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: cannot be read ({error}). {_AGAIN}") from None
    try:
        if path == DEFAULT_FILE:
            # The tests validate it, and pydantic takes a tenth of a second.
            return _expanded(TableFile(**document))
        table = _expanded(datafile.validated(path, document, TableFile, _AGAIN))
        _check_signatures(table)
        return table
    except ValueError as error:
        raise ConfigError(f"{path}: {error}. {_AGAIN}") from None


def _check_signatures(table: Table) -> None:
    """Raises ValueError for a signature that is no Python."""
    signatures = {
        (name, entry.signature) for at in table.values() for name, entry in at.names.items()
    }
    for name, signature in sorted(signatures):
        try:
            parameters(signature)
        except (SyntaxError, AssertionError, ValueError, RecursionError, MemoryError) as error:
            raise ValueError(f"{name} has a signature that is no Python ({error})") from None


def _expanded(file: TableFile) -> Table:
    order = sorted(file.columns, key=versions.sort_key)
    names: dict[str, dict[str, Name]] = {version: {} for version in order}
    probes: dict[str, dict[str, dict[str, str]]] = {version: {} for version in order}
    for name, entries in file.names.items():
        for runs, kind, signature in entries:
            for version in spread(runs, order):
                if name in names[version]:
                    raise ValueError(f"{name} stands twice for {version}")
                names[version][name] = Name(kind, signature)
    texts = {PASS: PASS, **file.failures}
    for probe, places in file.probes.items():
        for place, outcomes in places.items():
            for outcome, runs in outcomes.items():
                if outcome not in texts:
                    raise ValueError(
                        f"{probe} on {place} failed with {outcome}, which is not listed"
                    )
                for version in spread(runs, order):
                    if name_of(probe) not in names[version]:
                        raise ValueError(f"{probe} was probed on {version}, which has no such name")
                    by_place = probes[version].setdefault(probe, {})
                    if place in by_place:
                        raise ValueError(f"{probe} on {place} stands twice for {version}")
                    by_place[place] = texts[outcome]
    return {
        version: Release(file.columns[version], names[version], probes[version])
        for version in order
    }


def name_of(probe: str) -> str:
    """`tl.load` of `tl.load(cache_modifier=".cg")`."""
    return probe.partition("(")[0]


def of_host(name: str) -> bool:
    """Whether it is a name beside the language, such as `triton.testing.do_bench`."""
    return name == "triton" or name.startswith(HOST)


def option_of(probe: str) -> str:
    """`cache_modifier=".cg"` of that, or an empty string."""
    return probe.partition("(")[2][:-1]


def runs(releases: Iterable[str], order: Sequence[str]) -> str:
    """`2.3.1 3.1.0..3.9.0`: the versions in `found` as the ends of each run in `order`."""
    chosen = set(releases)
    parts: list[list[str]] = []
    before = ""
    for version in order:
        if version in chosen:
            if parts and parts[-1][-1] == before:
                parts[-1] = [parts[-1][0], version]
            else:
                parts.append([version])
        before = version
    return " ".join("..".join(part) for part in parts)


def spread(text: str, order: Sequence[str]) -> list[str]:
    """The versions that `runs` wrote. Raises ValueError for a version that is not in `order`."""
    parts: list[str] = []
    for part in text.split(" "):
        first, _, last = part.partition("..")
        last = last or first
        if first not in order or last not in order or order.index(first) > order.index(last):
            raise ValueError(f'"{text}" are no releases of its columns')
        parts += order[order.index(first) : order.index(last) + 1]
    return parts


def write(path: Path, table: Table) -> None:
    """Whole or not at all."""
    try:
        handle, partial = tempfile.mkstemp(dir=path.parent, prefix=path.name)
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as stream:
                stream.write(dumped(table))
            # mkstemp lets only the owner read; committed files are for all.
            os.chmod(partial, 0o644)
            os.replace(partial, path)
        except BaseException:
            os.unlink(partial)
            raise
    except OSError as error:
        raise UsageError(
            f"{path}: {error.strerror or error}. Name a file that can be written: --language-file."
        ) from None


def dumped(table: Table) -> str:
    """The text of the file: sorted, and the same for equal tables."""
    order = sorted(table, key=versions.sort_key)
    columns = {version: _text(dict(sorted(table[version].about.items()))) for version in order}
    names = {}
    for name in sorted({name for release in table.values() for name in release.names}):
        kinds = _shared({version: table[version].names.get(name) for version in order})
        names[name] = _text([[runs(v, order), entry.kind, entry.signature] for entry, v in kinds])
    probes, failures = {}, {}
    for probe in sorted({probe for release in table.values() for probe in release.probes}):
        shared: dict[str, dict[str, str]] = {}
        for place in (*TARGETS, INTERPRETER):
            by_release = {
                version: table[version].probes.get(probe, {}).get(place) for version in order
            }
            shared[place] = {digest(outcome): runs(v, order) for outcome, v in _shared(by_release)}
            failures.update({digest(outcome): _text(outcome) for outcome, _ in _shared(by_release)})
        probes[probe] = _text({place: outcomes for place, outcomes in shared.items() if outcomes})
    parts = [f'"crosswarp_language": {FORMAT}']
    failures.pop(PASS, None)
    sections = {
        "columns": columns,
        "names": names,
        "probes": probes,
        "failures": dict(sorted(failures.items())),
    }
    for key, entries in sections.items():
        lines = ",\n".join(f"{_text(name)}: {text}" for name, text in entries.items())
        parts.append(f'"{key}": {{\n{lines}\n}}')
    return "{\n" + ",\n".join(parts) + "\n}\n"


def digest(outcome: str) -> str:
    """`pass`, or the digest of a failure."""
    return outcome if outcome == PASS else hashlib.sha256(outcome.encode()).hexdigest()[:8]


def _shared(by_release: Mapping[str, T | None]) -> list[tuple[T, list[str]]]:
    """Each value with the versions that have it, in the order of the first of them."""
    by_value: dict[T, list[str]] = {}
    for version, thing in by_release.items():
        if thing is not None:
            by_value.setdefault(thing, []).append(version)
    return list(by_value.items())


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(", ", ": "))


def merged(old: Table, version: str, new: Release, globs: Sequence[str] = ("*",)) -> Table:
    """`old`, with the entries of `new` replacing its old ones for the names that match `globs`."""
    check_part(old, [version], globs)
    before = old.get(version)
    names = {} if before is None else _others(before.names, globs, lambda name: name)
    probes = {} if before is None else _others(before.probes, globs, name_of)
    release = Release(new.about, {**names, **new.names}, {**probes, **new.probes})
    table = {**old, version: release}
    return {name: table[name] for name in sorted(table, key=versions.sort_key)}


def check_part(old: Table, columns: Iterable[str | None], globs: Sequence[str]) -> None:
    """Raises UsageError for releases that would come into the table with some of their names only."""
    new = [version for version in columns if version not in old]
    if new and "*" not in globs:
        raise UsageError(
            f"{', '.join(map(str, new))}: not in the table, and cannot come into it in part. Leave out the names."
        )


def _others(
    entries: Mapping[str, T], globs: Sequence[str], name: Callable[[str], str]
) -> dict[str, T]:
    return {key: value for key, value in entries.items() if not chosen(name(key), globs)}


def chosen(name: str, globs: Sequence[str]) -> bool:
    return any(fnmatchcase(name, glob) for glob in globs)


@dataclass(frozen=True)
class Difference:
    """A difference between a release and the table."""

    what: str
    place: str
    before: str
    now: str


def differences(old: Release, new: Release, globs: Sequence[str] = ("*",)) -> list[Difference]:
    """The entries in which `new` and `old` differ."""
    changes = []
    for name in sorted({*old.names, *new.names}):
        pair = [
            f"{release.names[name].kind} {release.names[name].signature}".strip()
            if name in release.names
            else "absent"
            for release in (old, new)
        ]
        if chosen(name, globs) and pair[0] != pair[1]:
            changes.append(Difference(name, "", *pair))
    for probe in sorted({*old.probes, *new.probes}):
        if not chosen(name_of(probe), globs):
            continue
        for place in (*TARGETS, INTERPRETER):
            pair = [
                release.probes.get(probe, {}).get(place, "not probed") for release in (old, new)
            ]
            if pair[0] != pair[1]:
                changes.append(Difference(probe, place, *pair))
    return changes
