"""Which file of a checkout holds crosswarp's settings. Needs no pydantic, which the small install lacks."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from crosswarp.matrix.errors import ConfigError
from crosswarp.matrix.facts import datafile

PYPROJECT, OWN_FILE = "pyproject.toml", "crosswarp.toml"


def of(folder: Path) -> Path | None:
    """Returns the file with the settings of the checkout in `folder`; None where it has none.

    Raises:
        ConfigError: pyproject.toml cannot be read, or both files hold settings.
    """
    own, pyproject = folder / OWN_FILE, folder / PYPROJECT
    in_project = pyproject.is_file() and _holds_settings(pyproject)
    if own.is_file() and in_project:
        raise ConfigError(
            f"{own} and [tool.crosswarp] in {pyproject} both hold settings. Keep one of them."
        )
    if own.is_file():
        return own
    return pyproject if in_project else None


def _holds_settings(path: Path) -> bool:
    tool = datafile.document(path).get("tool")
    return isinstance(tool, Mapping) and "crosswarp" in tool
