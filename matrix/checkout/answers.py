"""The answers that `crosswarp check --save` keeps: `[tool.crosswarp.check]`, in pyproject.toml or crosswarp.toml."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from crosswarp.matrix.checkout import settings_file
from crosswarp.matrix.checkout.settings_file import OWN_FILE, PYPROJECT
from crosswarp.matrix.errors import ConfigError

_FURTHEST = 8


@dataclass(frozen=True)
class Answers:
    """The options of a check that are kept; `settings.Answers` explains each."""

    signature: tuple[str, ...] = ()
    constexpr: tuple[str, ...] = ()
    stub: bool = False


def home(file: Path, here: Path) -> Path:
    """The folder whose settings count for a file: the nearest above it that has some, else `here`."""
    for folder in list(file.parents)[:_FURTHEST]:
        if settings_file.of(folder) is not None:
            return folder
    return here


def saved(file: Path, here: Path) -> Answers:
    """Raises ConfigError for settings that are not allowed."""
    return _in(home(file, here))


def save(folder: Path, answers: Answers) -> Path:
    """Write the answers in place of the settings for check in `folder`; returns the file.

    Raises:
        ConfigError: the file cannot be written, or does not hold that afterwards.
    """
    source = settings_file.of(folder)
    path = source or (folder / PYPROJECT if (folder / PYPROJECT).is_file() else folder / OWN_FILE)
    header = "check" if path.name == OWN_FILE else "tool.crosswarp.check"
    before = path.read_text("utf-8") if path.is_file() else ""
    section = "\n".join([f"[{header}]", *_lines(answers)]) + "\n"
    match = re.search(rf"^\[{re.escape(header)}\][^\n]*\n(?:(?!\[)[^\n]*(?:\n|\Z))*", before, re.M)
    if match:
        between = "" if match.end() == len(before) else "\n"
        after = f"{before[: match.start()]}{section}{between}{before[match.end() :]}"
    else:
        after = f"{before.rstrip()}\n\n{section}" if before.strip() else section
    partial = path.with_name(f".{path.name}.partial")
    try:
        partial.write_text(after, "utf-8")
        os.replace(partial, path)
    except OSError as error:
        raise ConfigError(
            f"{path}: {error.strerror or error}. Make it a file that can be written."
        ) from None
    if _in(folder) != answers:
        path.write_text(before, "utf-8")
        raise ConfigError(
            f"{path}: its [{header}] cannot be rewritten. Write it yourself: {' '.join(_lines(answers))}"
        )
    return path


def _in(folder: Path) -> Answers:
    """The answers among the settings in `folder`."""
    if settings_file.of(folder) is None:
        return Answers()
    # Imported where there are settings: pydantic takes a tenth of a second, and the small install lacks it.
    from crosswarp.matrix.checkout import settings

    check = settings.load(folder).settings.check
    return Answers(check.signature, check.constexpr, check.stub)


def _lines(answers: Answers) -> Iterable[str]:
    for name in ("signature", "constexpr"):
        values = getattr(answers, name)
        if values:
            # Strings of JSON are strings of TOML; a line each, to be reviewed.
            yield f"{name} = ["
            yield from (f"    {json.dumps(value, ensure_ascii=False)}," for value in values)
            yield "]"
    if answers.stub:
        yield "stub = true"
