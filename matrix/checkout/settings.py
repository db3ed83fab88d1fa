"""A library's settings: `[tool.crosswarp]` in its pyproject.toml, or crosswarp.toml beside it.

`Settings` is the one description: checks, `crosswarp init` and docs/settings.schema.json are made from it.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from crosswarp.matrix.checkout import settings_file
from crosswarp.matrix.checkout.settings_file import OWN_FILE
from crosswarp.matrix.errors import UsageError
from crosswarp.matrix.facts import columns, datafile, targets, validators

SCHEMA = "urn:crosswarp:settings:1"
_TODO = "Correct these entries; docs/settings.schema.json describes each."


def _chosen(choose: Any, table: Any, text: str) -> str:
    try:
        choose(table, [text])
    except UsageError as error:
        # The caller adds the file and the key.
        raise ValueError(str(error).rstrip(".")) from None
    return text


def _column(text: str) -> str:
    return _chosen(columns.choose, columns.load(), text)


def _target(text: str) -> str:
    return _chosen(targets.choose, targets.load(), text)


def _inside(text: str) -> str:
    path = PurePosixPath(text)
    if not text or path.is_absolute() or ".." in path.parts or text.startswith("-"):
        raise ValueError(f'"{text}" is no path inside the checkout')
    return text.rstrip("/")


def _value(text: str) -> str:
    if "\0" in text:
        raise ValueError("a value cannot hold a null character")
    return text


def _alias(name: str) -> str:
    return name.replace("_", "-")


def _near(key: str, keys: Iterable[str]) -> str:
    keys = list(keys)
    close = difflib.get_close_matches(key.lower().replace("_", "-"), keys, n=1, cutoff=0.5)
    return f'did you mean "{close[0]}"?' if close else f"there are: {', '.join(keys)}"


Name = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
Module = Annotated[str, Field(pattern=r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$")]
Glob = Annotated[str, Field(min_length=1)]


class XFail(BaseModel):
    """A failure that is expected; strict: where it passes, the run fails."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    cells: Glob = Field(description="a glob of KERNEL, or KERNEL/CASE, as reports name them")
    triton: Annotated[str, AfterValidator(validators.specifier)] = Field(
        default="", description="the releases on which it fails. Empty: all"
    )
    targets: tuple[Glob, ...] = Field(default=("*",), description="globs of targets")
    reason: str = ""


class Answers(BaseModel):
    """The saved answers to `crosswarp check`: `--save` writes them."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    signature: tuple[Glob, ...] = Field(default=(), description="as --signature: KERNEL:TYPES")
    constexpr: tuple[Glob, ...] = Field(default=(), description="as --constexpr: KERNEL:NAME=VALUE")
    stub: bool = Field(default=False, description="as --stub")


class Settings(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, alias_generator=_alias, defer_build=True)

    requires: tuple[Annotated[str, AfterValidator(validators.requirement)], ...] = Field(
        default=(),
        description="what the library and its tests need besides Triton and torch; installed beside each column, with "
        "its dependencies. Triton, torch and what they bring stay the column's",
    )
    targets: tuple[Annotated[str, AfterValidator(_target)], ...] = Field(
        default=("sm_90",),
        min_length=1,
        description="what to compile for: names, globs, products or a profile; `crosswarp targets` lists them",
    )
    columns: tuple[Annotated[str, AfterValidator(_column)], ...] = Field(
        default=(),
        description="ids, globs or profiles of columns; `crosswarp columns` lists them. Empty: all published pairs "
        "that the library's metadata allows, by its dependencies and extras. Name them where setup.py computes those",
    )
    tests: tuple[Annotated[str, AfterValidator(_inside)], ...] = Field(
        default=(),
        description="files and folders of tests, from the checkout's root. Empty: what pytest's own settings name, "
        "else `tests` or `test`",
    )
    sample: Annotated[int, Field(ge=1)] | None = Field(
        default=None,
        description="run so many tests, spread over the test functions, the same ones each time. Without it: all",
    )
    stub: tuple[Module, ...] = Field(
        default=(),
        description="compiled extensions that a machine without a GPU lacks; tests that call them do not apply",
    )
    env: dict[Name, Annotated[str, AfterValidator(_value)]] = Field(
        default={},
        description="environment variables of the library's build and of its tests",
    )
    cases: tuple[Glob, ...] = Field(
        default=(),
        description="globs of the tests to run, as reports name them: FILE::FUNCTION, or FILE::FUNCTION/PARAMETERS. "
        "One that begins with ! leaves tests out. Empty: all",
    )
    time_limit: Annotated[int, Field(ge=1)] = Field(
        default=120, description="seconds of wall time for one test"
    )
    compat: bool = Field(
        default=False,
        description="whether the library calls compat.install() itself. Then the cells with compat decide, and a "
        "failure without it is expected",
    )
    xfail: tuple[Glob | XFail, ...] = Field(
        default=(),
        description="failures that are expected, as globs of KERNEL or KERNEL/CASE, or as tables that name releases "
        "and targets too. Strict: where one passes, the run fails",
    )
    check: Answers = Field(default=Answers(), description="answers for `crosswarp check`")
    lint_exclude: tuple[Glob, ...] = Field(
        default=(), description="globs of files that `crosswarp lint` leaves out"
    )

    @model_validator(mode="before")
    @classmethod
    def _known_keys(cls, value: object) -> object:
        if isinstance(value, Mapping):
            keys = [_alias(name) for name in cls.model_fields]
            for key in value:
                if key not in keys:
                    raise ValueError(f'there is no key "{key}" ({_near(str(key), keys)})')
        return value


class _Tool(BaseModel):
    model_config = ConfigDict(defer_build=True)

    crosswarp: Settings = Field(default_factory=Settings)


class _Pyproject(BaseModel):
    model_config = ConfigDict(defer_build=True)

    tool: _Tool = Field(default_factory=_Tool)


class Source(BaseModel):
    """The settings of a checkout, and the file that they are from; None where it has none."""

    model_config = ConfigDict(frozen=True, defer_build=True)

    settings: Settings
    path: Path | None


def load(folder: Path) -> Source:
    """The settings of the checkout in `folder`.

    Raises:
        ConfigError: a file cannot be read, says what it must not, or both files hold settings.
    """
    path = settings_file.of(folder)
    if path is None:
        return Source(settings=Settings(), path=None)
    if path.name == OWN_FILE:
        return Source(settings=_validated(path, Settings), path=path)
    return Source(settings=_validated(path, _Pyproject).tool.crosswarp, path=path)


def schema() -> str:
    """The JSON schema of crosswarp.toml, and of `[tool.crosswarp]`."""
    document = Settings.model_json_schema(by_alias=True)
    document |= {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": SCHEMA,
        "title": "crosswarp's settings of a library: crosswarp.toml, or [tool.crosswarp] in pyproject.toml",
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _validated(path: Path, model: type[datafile.Model]) -> datafile.Model:
    return datafile.load(path, model, todo=_TODO)
