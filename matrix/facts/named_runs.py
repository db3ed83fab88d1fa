"""Runs that have a name, such as that of `crosswarp run --quick`: their selections, read from selections.toml."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from crosswarp.matrix.facts import datafile

DEFAULT_FILE = Path(__file__).with_name("selections.toml")
QUICK = "quick"
_Globs = Annotated[tuple[str, ...], Field(min_length=1)]


class NamedRun(BaseModel):
    """Each as its option of `crosswarp run` takes it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    columns: _Globs
    targets: _Globs
    lanes: _Globs
    kernels: _Globs
    cases: _Globs


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    named: dict[str, NamedRun]


def load(path: Path = DEFAULT_FILE) -> dict[str, NamedRun]:
    return datafile.load(path, _File, wrap="named").named
