"""The changes that a release of Triton announces for the next one, from announced.toml."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Annotated

from crosswarp.matrix.facts import datafile
from crosswarp.matrix.facts.validators import Rule, Strict

DEFAULT_FILE = Path(__file__).with_name("announced.toml")


@dataclass(frozen=True)
class Change(Strict):
    """
    Attributes:
        release: in which it comes.
        by: the release that announces it.
        effect: on kernels, in a sentence.
        do: how to see the effect today, and how to avoid it.
        decided: words in a library's files which show that it has decided already.
        concerns: words in the files of a library that is concerned; empty: all are.
    """

    release: Annotated[str, Rule(min_length=1)]
    by: Annotated[str, Rule(min_length=1)]
    title: Annotated[str, Rule(min_length=1)]
    effect: Annotated[str, Rule(min_length=1)]
    do: Annotated[str, Rule(min_length=1)]
    source: Annotated[str, Rule(min_length=1)]
    checked: date
    decided: tuple[str, ...] = ()
    concerns: tuple[str, ...] = ()


@dataclass(frozen=True)
class ChangeFile(Strict):
    change: tuple[Change, ...]


def load(path: Path = DEFAULT_FILE) -> tuple[Change, ...]:
    if path == DEFAULT_FILE:
        rows = datafile.document(path)["change"]
        return tuple(datafile.unchecked(Change, row) for row in rows)
    return datafile.load(path, ChangeFile).change
