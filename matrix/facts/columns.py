"""The columns: pinned environments, read from columns.toml.

A column off its official versions needs no entry: `triton-3.2.0+torch-2.5.1+numpy-2.0.2+python-3.12`, or any part of
it, takes the rest from `triton-3.2.0`. torch and numpy are then installed with an override, because torch pins its
Triton exactly. Nor does another patch release of a minor that the table has need one: `triton-3.5.0` takes the rest
from `triton-3.5.1`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from crosswarp.matrix import versions
from crosswarp.matrix.errors import ConfigError, UsageError
from crosswarp.matrix.facts import datafile, selection, validators
from crosswarp.matrix.facts.validators import Rule, Strict

DEFAULT_FILE = Path(__file__).with_name("columns.toml")
DEFAULT_PROFILE = "founding"
# The newest published pair, in place of its id.
NEWEST = "newest"
# The cell side's own floor.
CELL_PYTHON = ">=3.9"
_SPELLED = "Write it as triton-3.2.0+torch-2.5.1+numpy-2.0.2+python-3.12, or any part of that."


@dataclass(frozen=True, kw_only=True)
class Column(Strict):
    id: Annotated[str, Rule(pattern=r"^[a-z0-9][a-z0-9._+-]*$")]
    triton: Annotated[str, Rule(validators.version)] | None = None
    torch: Annotated[str, Rule(validators.version)] | None = None
    python: Annotated[str, Rule(validators.specifier)] = ">=3.9"
    requirements: tuple[Annotated[str, Rule(validators.requirement)], ...] = ()
    profile: tuple[str, ...] = ("all",)
    resolver: Literal["main"] | None = None
    # For a patch release: the Triton in the table that the other fields come from, which the torch pins.
    patch_of: str | None = None
    source: tuple[str, ...] = ()

    def consistent(self) -> None:
        if self.resolver:
            if self.triton or self.torch:
                raise ValueError("a column with a resolver pins no triton and no torch")
            return
        if not (self.triton and self.torch):
            raise ValueError("needs both triton and torch, or a resolver")
        ids = (f"triton-{self.triton}", f"triton-{self.triton}+torch-{self.torch}")
        if self.id not in ids:
            raise ValueError(f"the id must be {ids[0]}, or {ids[1]} off the official pair")

    @property
    def swapped(self) -> dict[str, str]:
        """The versions that replace those of its Triton: `{"torch": "2.5.1", "python": "3.12"}`."""
        return {} if self.resolver else versions.swapped(self.id)

    @property
    def official(self) -> bool:
        """Whether it is a published pair with its own requirements, so that nothing needs an override."""
        return self.resolver is None and not self.swapped

    @property
    def overrides(self) -> tuple[str, ...]:
        """The requirements installed whatever its packages require; torch requires exactly one Triton."""
        off_pair = "torch" in self.swapped or self.patch_of is not None
        pair = [f"triton=={self.triton}", f"torch=={self.torch}"] if off_pair else []
        numpy = [f"numpy=={self.swapped['numpy']}"] if "numpy" in self.swapped else []
        return (*pair, *numpy)


@dataclass(frozen=True)
class ColumnFile(Strict):
    column: Annotated[tuple[Column, ...], Rule(min_length=1)]

    def consistent(self) -> None:
        ids = [column.id for column in self.column]
        twice = sorted({name for name in ids if ids.count(name) > 1})
        if twice:
            raise ValueError(f"the same id stands twice: {', '.join(twice)}")


def load(path: Path = DEFAULT_FILE) -> tuple[Column, ...]:
    if path != DEFAULT_FILE:
        return datafile.load(path, ColumnFile).column
    return tuple(datafile.unchecked(Column, row) for row in datafile.document(path)["column"])


def published(table: Sequence[Column]) -> list[Column]:
    """The official pairs of the table, oldest first."""
    official = [column for column in table if column.official and column.triton]
    return sorted(official, key=lambda column: versions.exact(column.triton))


def newest(columns: Sequence[Column]) -> Column:
    """The newest published pair of the table."""
    pairs = published(columns)
    if not pairs:
        raise ConfigError(
            "the column table holds no published pair. Add one with triton and torch."
        )
    return pairs[-1]


def choose(columns: Sequence[Column], wanted: Sequence[str]) -> list[Column]:
    """Columns by id, glob, profile name, `newest`, or off the table; in the order of the table, those off it last."""
    listing = "`crosswarp columns` lists them."
    by_id = {column.id: column for column in columns}
    profiles = {name for column in columns for name in column.profile}
    names: set[str] = set()
    swapped: dict[str, Column] = {}
    for text in (selection.column_id(name, (*by_id, *profiles, NEWEST)) for name in wanted):
        if text == NEWEST:
            names.add(newest(columns).id)
        elif text in profiles:
            names.update(column.id for column in columns if text in column.profile)
        elif text not in by_id and "+" in text and not any(char in text for char in "*?["):
            pair = _off_table(text, by_id)
            swapped[pair.id] = pair
        elif text not in by_id and (patch := _patch(text, by_id)) is not None:
            swapped[text] = patch
        else:
            names.update(selection.choose([text], list(by_id), "column", listing))
    names.update(swapped.keys() & by_id)
    chosen = [column for column in columns if column.id in names]
    return chosen + [column for name, column in swapped.items() if name not in by_id]


def swap(column: Column, **wanted: str) -> Column:
    """`column` with another torch, numpy or python; itself if it already has that. Raises UsageError."""
    checked = {axis: _checked(column, axis, text) for axis, text in wanted.items()}
    if "torch" in checked and versions.same(checked["torch"], column.torch or "0"):
        del checked["torch"]
    swapped = {**column.swapped, **checked}
    changes: dict[str, Any] = {"torch": swapped.get("torch", column.torch)}
    if "numpy" in swapped:
        from packaging.requirements import Requirement

        others = [text for text in column.requirements if Requirement(text).name != "numpy"]
        changes["requirements"] = (f"numpy=={swapped['numpy']}", *others)
    if "python" in swapped:
        patch = swapped["python"].count(".") == 2
        changes["python"] = f"=={swapped['python']}" if patch else f"=={swapped['python']}.*"
    parts = [f"{axis}-{swapped[axis]}" for axis in versions.SWAPPED if axis in swapped]
    identifier = "+".join([f"triton-{column.triton}", *parts])
    if identifier == column.id:
        return column
    return replace(column, **changes, id=identifier, profile=())


def _patch(text: str, by_id: dict[str, Column]) -> Column | None:
    """The column that `triton-3.5.0` names, where the table has another patch of that minor; None for anything else."""
    version = versions.parse(text.removeprefix("triton-"))
    if version is None or text != f"triton-{version}" or len(version.release) != 3:
        return None
    if version.is_prerelease or version.local:
        return None
    for column in published(list(by_id.values())):
        if versions.minor(versions.exact(column.triton)) == versions.minor(version):
            return replace(column, id=text, triton=str(version), profile=(), patch_of=column.id)
    return None


def _checked(column: Column, axis: str, text: str) -> str:
    """The version that `text` names, spelled as it is in ids."""
    if axis == "python":
        if not re.fullmatch(r"3\.\d+(\.\d+)?", text):
            raise UsageError(f'"{text}" is not a version of Python such as 3.12. {_SPELLED}')
        allowed = versions.both(column.python, CELL_PYTHON)
        if not versions.within(text, allowed):
            raise UsageError(
                f"{column.id} takes Python {allowed}, not {text}. Name one of those, or another column."
            )
        return text
    version = versions.parse(text)
    # One spelling of one version: the release 2.6.0 is not also 2.6.
    if version is None or version.epoch or len(version.release) != 3:
        raise UsageError(f'"{text}" is not a whole version of {axis}. {_SPELLED}')
    return str(version)


def _off_table(text: str, by_id: dict[str, Column]) -> Column:
    """The column that an id such as `triton-3.2.0+python-3.12` names, its parts in any order."""
    name, parts = versions.split_id(text)
    axes = [axis for axis, _ in parts]
    if not parts or len(set(axes)) < len(axes):
        raise UsageError(f'column "{text}": the part after + cannot be read. {_SPELLED}')
    base = by_id.get(name) or _patch(name, by_id)
    if base is None:
        raise UsageError(
            f'column "{text}": the table holds no "{name}". `crosswarp columns` lists what it holds, and '
            "`crosswarp update` proposes the releases that it lacks."
        )
    if base.resolver:
        raise UsageError(
            f'column "{text}": "{name}" pins no versions that could be swapped. Name a release. {_SPELLED}'
        )
    return swap(base, **dict(parts))
