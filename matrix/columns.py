"""The columns: pinned environments, read from columns.toml.

A column off the official pair needs no entry: `triton-3.2.0+torch-2.5.1` takes everything but torch from
`triton-3.2.0` and is installed with an override, because torch pins its Triton exactly.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from crosswarp.matrix import datafile, selection
from crosswarp.matrix.errors import ConfigError, UsageError

DEFAULT_FILE = Path(__file__).with_name("columns.toml")
DEFAULT_PROFILE = "founding"
_PAIR = re.compile(r"triton-(?P<triton>[^+]+)(\+torch-(?P<torch>[^+].*))?")


def _version(text: str) -> str:
    try:
        Version(text)
    except InvalidVersion:
        raise ValueError(f'"{text}" is not a version') from None
    return text


def _specifier(text: str) -> str:
    try:
        SpecifierSet(text)
    except InvalidSpecifier:
        raise ValueError(f'"{text}" is not a range of versions such as ">=3.9,<3.13"') from None
    return text


def _requirement(text: str) -> str:
    try:
        Requirement(text)
    except InvalidRequirement:
        raise ValueError(f'"{text}" is not a requirement such as "numpy<2"') from None
    return text


class Column(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    id: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._+-]*$")]
    triton: Annotated[str, AfterValidator(_version)] | None = None
    torch: Annotated[str, AfterValidator(_version)] | None = None
    python: Annotated[str, AfterValidator(_specifier)] = ">=3.9"
    requirements: tuple[Annotated[str, AfterValidator(_requirement)], ...] = ()
    profile: tuple[str, ...] = ("all",)
    resolver: Literal["main"] | None = None
    source: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _consistent(self) -> Column:
        if self.resolver:
            if self.triton or self.torch:
                raise ValueError("a column with a resolver pins no triton and no torch")
            return self
        if not (self.triton and self.torch):
            raise ValueError("needs both triton and torch, or a resolver")
        ids = (f"triton-{self.triton}", f"triton-{self.triton}+torch-{self.torch}")
        if self.id not in ids:
            raise ValueError(f"the id must be {ids[0]}, or {ids[1]} off the official pair")
        return self

    @property
    def official(self) -> bool:
        """Whether torch itself asks for this Triton, so that nothing needs an override."""
        return "+torch-" not in self.id and self.resolver is None


class ColumnFile(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    column: Annotated[tuple[Column, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _unique(self) -> ColumnFile:
        ids = [column.id for column in self.column]
        twice = sorted({name for name in ids if ids.count(name) > 1})
        if twice:
            raise ValueError(f"the same id stands twice: {', '.join(twice)}")
        return self


def load(path: Path = DEFAULT_FILE) -> tuple[Column, ...]:
    return datafile.load(path, ColumnFile).column


def newest(columns: Sequence[Column]) -> Column:
    """The newest published pair of the table."""
    published = [column for column in columns if column.triton and column.official]
    if not published:
        raise ConfigError(
            "the column table holds no published pair. Add one with triton and torch."
        )
    return max(published, key=lambda column: Version(column.triton or "0"))


def choose(columns: Sequence[Column], wanted: Sequence[str]) -> list[Column]:
    """Columns by id, glob, profile name, or a pair off the table; in the order of the table, pairs last."""
    listing = "`crosswarp columns` lists them."
    by_id = {column.id: column for column in columns}
    profiles = {name for column in columns for name in column.profile}
    names: list[str] = []
    pairs: list[Column] = []
    for text in wanted:
        if text in profiles:
            names += [column.id for column in columns if text in column.profile]
        elif text not in by_id and (pair := _off_table(text, by_id)):
            pairs.append(pair)
        else:
            names += selection.choose([text], list(by_id), "column", listing)
    return [column for column in columns if column.id in set(names)] + pairs


def _off_table(text: str, by_id: dict[str, Column]) -> Column | None:
    match = _PAIR.fullmatch(text)
    if not match or not match["torch"] or any(char in text for char in "*?["):
        return None
    base = by_id.get(f"triton-{match['triton']}")
    if base is None:
        return None
    try:
        Version(match["torch"])
    except InvalidVersion:
        raise UsageError(
            f'column "{text}": "{match["torch"]}" is not a version of torch. '
            "Write a pair as triton-3.2.0+torch-2.5.1."
        ) from None
    if match["torch"] == base.torch:
        return base
    return base.model_copy(update={"id": text, "torch": match["torch"], "profile": ()})
