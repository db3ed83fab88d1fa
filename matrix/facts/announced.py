"""The changes that a release of Triton announces for the next one, from announced.toml."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from crosswarp.matrix.facts import datafile

DEFAULT_FILE = Path(__file__).with_name("announced.toml")


class Change(BaseModel):
    """
    Attributes:
        release: in which it comes.
        by: the release that announces it.
        effect: on kernels, in a sentence.
        do: how to see the effect today, and how to avoid it.
        decided: words in a library's files which show that it has decided already.
        concerns: words in the files of a library that is concerned; empty: all are.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    release: Annotated[str, Field(min_length=1)]
    by: Annotated[str, Field(min_length=1)]
    title: Annotated[str, Field(min_length=1)]
    effect: Annotated[str, Field(min_length=1)]
    do: Annotated[str, Field(min_length=1)]
    decided: tuple[str, ...] = ()
    concerns: tuple[str, ...] = ()
    source: Annotated[str, Field(min_length=1)]
    checked: date


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    change: tuple[Change, ...]


def load(path: Path = DEFAULT_FILE) -> tuple[Change, ...]:
    return datafile.load(path, _File).change
