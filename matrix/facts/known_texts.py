"""The texts of a known issue, for searching: its fingerprint written out, and the words that its shim is known by.

Needs nothing beyond Python 3.11, so that `crosswarp why` answers where only the shims are installed; issues.py, which
checks every record, wants pydantic.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol
from zlib import crc32

ISSUES = Path(__file__).with_name("issues.toml")
# Issues and shims as `crosswarp why` reads them: importing eighty shims takes longer than the answer.
PACKED = Path(__file__).parent / "errors" / "known.json"
# Stands for whatever a release, a kernel or a configuration puts there.
ANYTHING = "…"
# The fields that `packed` read.
_WRITTEN: dict[str, list[str]] = {}
# The most texts of one fingerprint; a record that needs more is searched by its expression alone.
_MOST = 60
_CLASSES = "wdsWDS"
# The line of a kernel that a compiler shows is no text to search for.
_SOURCE = re.compile(r"tl\.\w+\(")


class Known(Protocol):
    """The fields that are read of a record; issues.Issue has them as well."""

    @property
    def id(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def status(self) -> str: ...
    @property
    def triton(self) -> str: ...
    @property
    def targets(self) -> Sequence[str]: ...
    @property
    def lanes(self) -> Sequence[str]: ...
    @property
    def kernels(self) -> Sequence[str]: ...
    @property
    def fingerprint(self) -> str: ...
    @property
    def links(self) -> Sequence[str]: ...
    @property
    def fixed_in(self) -> str | None: ...
    @property
    def workaround(self) -> str: ...
    @property
    def shim(self) -> str | None: ...


class Fix(Protocol):
    """The fields of a shim that are read here; compat's Shim has them too."""

    @property
    def name(self) -> str: ...
    @property
    def issue(self) -> str | None: ...
    @property
    def symptom(self) -> str: ...


@dataclass(frozen=True)
class PlainFix:
    name: str
    issue: str | None
    symptom: str


@dataclass(frozen=True)
class Plain:
    """A record of our own file, as it is written: the tests have checked it."""

    id: str
    title: str
    status: str
    links: tuple[str, ...]
    triton: str = ""
    targets: tuple[str, ...] = ("*",)
    lanes: tuple[str, ...] = ("compile",)
    kernels: tuple[str, ...] = ("*",)
    fingerprint: str = ""
    fixed_in: str | None = None
    workaround: str = ""
    shim: str | None = None


def committed(path: Path = ISSUES) -> tuple[Plain, ...]:
    """The records of crosswarp's own issues.toml."""
    import tomllib

    return _plain(tomllib.loads(path.read_text(encoding="utf-8"))["issue"])


def _plain(records: Iterable[dict[str, Any]]) -> tuple[Plain, ...]:
    names = Plain.__dataclass_fields__
    made = []
    for record in records:
        fields: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in record.items()
            if name in names
        }
        made.append(Plain(**fields))
    return tuple(made)


def packed(path: Path = PACKED) -> tuple[Sequence[Known], Sequence[Fix]]:
    """Our own issues and shims, from one file where it is of the sources that lie here; otherwise from the sources."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        document = {}
    if document.get("sources") != _sources():
        from crosswarp import compat

        return committed(), compat.all_shims()
    _WRITTEN.update(document["written"])
    return _plain(document["issues"]), [PlainFix(**fix) for fix in document["shims"]]


def pack() -> str:
    """The same data as `packed` reads, from the sources themselves."""
    from crosswarp import compat

    document = {
        "sources": _sources(),
        "issues": [
            {name: value for name, value in asdict(issue).items() if value} for issue in committed()
        ],
        "written": {issue.fingerprint: written_out(issue.fingerprint) for issue in committed()},
        "shims": [asdict(PlainFix(s.name, s.issue, s.symptom)) for s in compat.all_shims()],
    }
    return json.dumps(document, ensure_ascii=False, indent=0) + "\n"


def _sources() -> int:
    """A sum of the issues and of the shims' names. A test compares the rest."""
    # Where compat is, without importing it.
    spec = find_spec("crosswarp.compat")
    assert spec and spec.origin
    names = sorted(path.name for path in Path(spec.origin).with_name("shims").glob("*.py"))
    return crc32("\n".join(names).encode(), crc32(ISSUES.read_bytes()))


def texts(issue: Known, shims: Iterable[Fix]) -> list[str]:
    """Every text by which the issue is known, as one would search for it."""
    wordings = [text for text in written_out(issue.fingerprint) if not _SOURCE.match(text)]
    for shim in shims:
        if shim.name == issue.shim and shim.issue == issue.id:
            wordings += symptoms(shim.symptom)
    return list(dict.fromkeys(wordings))


def symptoms(text: str) -> list[str]:
    """Those of a shim: a line each, and each of several in one line."""
    parts = re.split(r"\n|; |, or: ", text)
    return [part.strip() for part in parts if part.strip()]


def written_out(expression: str) -> list[str]:
    """The texts that a fingerprint matches, with `…` for any text; none where it has parts that we do not read.

    Read are alternatives, groups, optional parts, classes and repeated classes, which fingerprints are made of.
    """
    if expression in _WRITTEN:
        return _WRITTEN[expression]
    try:
        alternatives, at = _alternatives(expression, 0)
    except (_Unread, IndexError):
        return []
    if at < len(expression):
        return []
    tidy = (
        re.sub(rf"{ANYTHING}(?:\s*{ANYTHING})+", ANYTHING, text).strip() for text in alternatives
    )
    return [text for text in dict.fromkeys(tidy) if text.strip(f"{ANYTHING} ")]


class _Unread(Exception):
    pass


def _alternatives(text: str, at: int) -> tuple[list[str], int]:
    branches: list[str] = []
    while True:
        some, at = _sequence(text, at)
        branches += some
        if len(branches) > _MOST:
            raise _Unread
        if at >= len(text) or text[at] != "|":
            return branches, at
        at += 1


def _sequence(text: str, at: int) -> tuple[list[str], int]:
    made = [""]
    while at < len(text) and text[at] not in "|)":
        pieces, at = _atom(text, at)
        if at < len(text) and text[at] in "*+?{":
            if text[at] == "{":
                raise _Unread
            # With and without; a repeated part seldom has the same words again.
            pieces = {"?": [*pieces, ""], "*": [ANYTHING], "+": [ANYTHING]}[text[at]]
            at += 1
        made = [before + piece for before in made for piece in pieces]
        if len(made) > _MOST:
            raise _Unread
    return made, at


def _atom(text: str, at: int) -> tuple[list[str], int]:
    char = text[at]
    if char in "^$":
        return [""], at + 1
    if char == ".":
        # Alone it is an unescaped dot.
        return [ANYTHING if text[at + 1 : at + 2] in ("*", "+") else "."], at + 1
    if char == "\\":
        if text[at + 1] in _CLASSES:
            return [ANYTHING], at + 2
        if text[at + 1].isalnum():
            # \b and back references.
            if text[at + 1] != "b":
                raise _Unread
            return [""], at + 2
        return [text[at + 1]], at + 2
    if char == "[":
        end = text.index("]", at + 2) if "]" in text[at + 2 :] else -1
        inner = text[at + 1 : end]
        if end < 0 or any(sign in inner for sign in "^-\\"):
            raise _Unread
        return list(inner), end + 1
    if char == "(":
        at += 1
        if text.startswith("?:", at):
            at += 2
        elif text[at] == "?":
            raise _Unread
        choices, at = _alternatives(text, at)
        if text[at] != ")":
            raise _Unread
        return choices, at + 1
    return [char], at + 1


def evidence(issues: Sequence[Known], shims: Sequence[Fix]) -> Iterator[tuple[Known, str]]:
    """Each issue with each of its texts."""
    for issue in issues:
        for text in texts(issue, shims):
            yield issue, text
