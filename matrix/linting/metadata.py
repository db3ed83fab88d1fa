"""The releases that a library's own metadata allows: pyproject.toml, setup.cfg, setup.py, or an installed METADATA.

Nothing of it is run: setup.py is read as a tree, and what it computes is not seen. Markers (platforms, Pythons) are
left aside: a release that is allowed anywhere is allowed.
"""

from __future__ import annotations

import ast
import configparser
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from email.parser import HeaderParser
from pathlib import Path
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement

from crosswarp.matrix import versions
from crosswarp.matrix.errors import ConfigError
from crosswarp.matrix.facts.columns import Column

_LONGEST = 4_000_000


@dataclass(frozen=True)
class Allowed:
    """What a library asks for.

    Attributes:
        triton: one specifier for each place that names Triton, an extra for example; a release is allowed by any.
        torch: of what it always needs; a release whose torch is left out is left out.
        source: the file that says so; empty where none does.
    """

    triton: tuple[str, ...] = ()
    torch: tuple[str, ...] = ()
    source: str = ""

    def allows(self, column: Column) -> bool:
        if self.triton and not any(versions.within(column.triton, one) for one in self.triton):
            return False
        return all(versions.within(column.torch, one) for one in self.torch)

    def told(self) -> str:
        """In words."""
        parts = (
            [f"triton {' or '.join(one or 'of any release' for one in self.triton)}"]
            if self.triton
            else []
        )
        parts += [f"torch {one}" for one in self.torch if one]
        return (
            f"{' and '.join(parts)} ({self.source})"
            if parts
            else "no release of Triton or torch named"
        )


def of_library(folder: Path) -> Allowed:
    """What the metadata in `folder`, or in the folders above it, asks for.

    Raises:
        ConfigError: a pyproject.toml cannot be read.
    """
    folder = folder.absolute()
    for place in (folder if folder.is_dir() else folder.parent, *folder.parents):
        for read in (_pyproject, _setup_cfg, _setup_py, _installed):
            found = read(place)
            if found is not None and (found.triton or found.torch):
                return found
        if (place / ".git").exists() or (place / "pyproject.toml").exists() or place == Path.home():
            break
    return Allowed()


def left_out(folder: Path) -> list[str]:
    """`lint-exclude` of `[tool.crosswarp]` in the pyproject.toml of `folder`: globs of files.

    Raises:
        ConfigError: it is no list of texts.
    """
    path = folder / "pyproject.toml"
    if not path.is_file():
        return []
    tool = _toml(path).get("tool")
    section = tool.get("crosswarp", {}) if isinstance(tool, dict) else {}
    found = section.get("lint-exclude", []) if isinstance(section, dict) else []
    if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
        raise ConfigError(
            f'{path}: tool.crosswarp: lint-exclude is no list of texts. Write lint-exclude = ["tests", "vendor/*"].'
        )
    return found


def _toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigError(
            f"{path}: cannot be read as TOML ({str(error)[:100]}). Correct that place."
        ) from None


def _pyproject(folder: Path) -> Allowed | None:
    path = folder / "pyproject.toml"
    if not path.is_file():
        return None
    project = _toml(path).get("project")
    if not isinstance(project, dict):
        return None
    extras = project.get("optional-dependencies", {})
    groups = extras.values() if isinstance(extras, dict) else []
    return _allowed(_texts(project.get("dependencies")), [_texts(one) for one in groups], path.name)


def _setup_cfg(folder: Path) -> Allowed | None:
    path = folder / "setup.cfg"
    if not path.is_file():
        return None
    parser = configparser.ConfigParser(interpolation=None)
    try:
        parser.read(path, encoding="utf-8")
    except (configparser.Error, UnicodeDecodeError):
        return None
    always = parser.get("options", "install_requires", fallback="").splitlines()
    section = "options.extras_require"
    names = parser.options(section) if parser.has_section(section) else []
    extras = [parser.get(section, one).splitlines() for one in names]
    return _allowed(always, extras, path.name)


def _setup_py(folder: Path) -> Allowed | None:
    path = folder / "setup.py"
    try:
        if not path.is_file() or path.stat().st_size > _LONGEST:
            return None
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    always: list[str] = []
    extras: list[list[str]] = []
    for node in ast.walk(tree):
        # Wherever a setup.py keeps its lists: any text that asks for one of the two, as it stands.
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) < 200:
            requirement = _requirement(node.value)
            if requirement is not None and requirement.name == "triton":
                extras.append([node.value])
            elif (
                requirement is not None
                and requirement.name == "torch"
                and str(requirement.specifier)
            ):
                always.append(node.value)
    return _allowed(always, extras, path.name)


def _installed(folder: Path) -> Allowed | None:
    """Of a package beside its .dist-info, where no other is installed."""
    found = [one for glob in ("*.dist-info/METADATA", "PKG-INFO") for one in folder.glob(glob)]
    if len(found) != 1:
        return None
    try:
        headers = HeaderParser().parsestr(found[0].read_text(encoding="utf-8", errors="replace"))
    except OSError:
        return None
    told = headers.get_all("Requires-Dist", [])
    extras = [[one] for one in told if "extra ==" in one]
    return _allowed([one for one in told if "extra ==" not in one], extras, found[0].name)


def _allowed(always: Iterable[str], extras: Sequence[Iterable[str]], source: str) -> Allowed:
    triton: dict[str, None] = {}
    torch: dict[str, None] = {}
    for group, base in ((always, True), *((one, False) for one in extras)):
        for text in group:
            requirement = _requirement(text)
            if requirement is None or requirement.url:
                continue
            if requirement.name == "triton":
                triton[str(requirement.specifier)] = None
            elif requirement.name == "torch" and base:
                torch[str(requirement.specifier)] = None
    return Allowed(tuple(triton), tuple(torch), source)


def _requirement(text: str) -> Requirement | None:
    try:
        return Requirement(text.partition(" #")[0].strip())
    except InvalidRequirement:
        return None


def _texts(found: Any) -> list[str]:
    return [one for one in found if isinstance(one, str)] if isinstance(found, list) else []
