"""Where pytest's own settings say that tests are: pyproject.toml, pytest.ini, tox.ini or setup.cfg."""

from __future__ import annotations

import configparser
from pathlib import Path
from typing import Any

from crosswarp.matrix import reading
from crosswarp.matrix.facts.datafile import document

_SECTIONS = {
    "pytest.ini": "pytest",
    ".pytest.ini": "pytest",
    "tox.ini": "pytest",
    "setup.cfg": "tool:pytest",
}


def testpaths(folder: Path) -> list[str]:
    """The paths that `testpaths` names; empty where nothing is named.

    Raises:
        ConfigError: pyproject.toml cannot be read.
    """
    project = folder / "pyproject.toml"
    named: Any = []
    if project.is_file():
        tool = document(project).get("tool")
        for key in ("pytest", "ini_options"):
            tool = tool.get(key) if isinstance(tool, dict) else None
        named = tool.get("testpaths", []) if isinstance(tool, dict) else []
    for name, section in _SECTIONS.items():
        named = named or _in_ini(folder / name, section)
    named = named.split() if isinstance(named, str) else named
    if not (isinstance(named, list) and all(isinstance(path, str) for path in named)):
        return []
    return [path for path in named if not Path(path).is_absolute() and ".." not in Path(path).parts]


def _in_ini(path: Path, section: str) -> str:
    config = configparser.RawConfigParser(strict=False)
    try:
        config.read_string(reading.text(path), str(path))
    except (configparser.Error, OSError, UnicodeDecodeError):
        return ""
    return config.get(section, "testpaths", fallback="")
