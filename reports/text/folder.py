"""Writes the files of a report. Errors say what to do."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from crosswarp.matrix.errors import UsageError


def write(folder: Path, files: Mapping[str, str]) -> None:
    """`files` by their path in `folder`, which is made."""
    try:
        for name, text in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise UsageError(
            f"--out {folder}: {error.strerror or error}. Name a folder that can be written."
        ) from None
