"""The releases of Triton and torch that a checkout's other files name: requirements, lock files, CI, README, docs.

These files are not metadata: an installer does not read them. A pin (`triton==3.2.0`) says which release the authors
use, and users come with newer ones, so it counts as the oldest release that they support.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from packaging.requirements import Requirement

from crosswarp.matrix import versions

# In the order in which they are believed; of a kind that names a release, later kinds are not asked.
KINDS = (
    ("requirements*.txt", "requirements/*.txt", "*requirements.txt", "environment*.y*ml"),
    ("uv.lock", "poetry.lock", "pdm.lock", "Pipfile.lock"),
    (".github/workflows/*.y*ml", ".gitlab-ci.y*ml", ".buildkite/*.y*ml", "Dockerfile*", "docker/*"),
    ("README*", "docs/*.md", "docs/*.rst", "INSTALL*"),
)
_LARGEST = 5_000_000
_MOST = 60
_NAME = r"(?<![\w./-])(?P<name>triton|(?:py)?torch)(?![\w-])"
# triton>=3.0,<3.3 / "triton ~= 3.1" / `torch==2.6.0`
_SPECIFIER = re.compile(
    _NAME + r"[ `'\"*]*(?P<range>(?:[=~!<>]=?|===)\s*\d[\w.]*(?:\s*,\s*[=~!<>]=?\s*\d[\w.]*)*)",
    re.I,
)
_PIN = re.compile(r"={2,3}\s*(\d[\w.]*)")
# Triton 3.1+, PyTorch 2.4 or newer
_OR_NEWER = re.compile(
    _NAME + r"[ `'\"*]*(?:version )?v?(?P<version>\d+\.\d+(?:\.\d+)?)(?:\+| (?:or|and) (?:newer|later|above|higher))",
    re.I,
)  # fmt: skip
# name = "triton"\nversion = "3.2.0"
_LOCKED = re.compile(r'name = "(?P<name>triton|torch)"\nversion = "(?P<version>\d[\w.]*)"')


def mentioned(folder: Path) -> list[tuple[Requirement, str]]:
    """One requirement for each of Triton and torch that a file names, with the file's name; empty for none."""
    for globs in KINDS:
        mentions: dict[str, tuple[str, str]] = {}
        for path in _files(folder, globs):
            for name, wanted in _in_text(_text(path)):
                if name not in mentions or _oldest(wanted) < _oldest(mentions[name][0]):
                    mentions[name] = (wanted, path.relative_to(folder).as_posix())
        if mentions:
            return [
                (Requirement(f"{name}{text}"), where) for name, (text, where) in mentions.items()
            ]
    return []


def _files(folder: Path, globs: tuple[str, ...]) -> Iterator[Path]:
    seen = dict.fromkeys(path for glob in globs for path in sorted(folder.glob(glob)))
    yield from [path for path in seen if path.is_file()][:_MOST]


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(_LARGEST).decode("utf-8", "replace")
    except OSError:
        return ""


def _in_text(text: str) -> Iterator[tuple[str, str]]:
    """The package and the range, for each time that one is named."""
    for match in _SPECIFIER.finditer(text):
        pin = _PIN.match(match["range"])
        wanted = _at_least(pin[1]) if pin else match["range"]
        if versions.is_window(wanted):
            yield _package(match["name"]), wanted
    for pattern in (_OR_NEWER, _LOCKED):
        for match in pattern.finditer(text):
            if versions.is_window(wanted := _at_least(match["version"])):
                yield _package(match["name"]), wanted


def _package(name: str) -> str:
    return "triton" if name.lower() == "triton" else "torch"


def _at_least(version: str) -> str:
    return f">={versions.base(version) or version}"


def _oldest(wanted: str) -> tuple[int, ...]:
    """The lower bound, for comparison; a range without one comes first."""
    lower = [
        begins.release
        for operator, begins in versions.bounds(wanted)
        if ">" in operator or operator == "~="
    ]
    return max(lower, default=(0,))
