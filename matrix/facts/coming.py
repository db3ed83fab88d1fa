"""The newest vendor's build, as the nearest thing to the next release, and the causes of its differences."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from crosswarp.matrix.facts import datafile

DEFAULT_FILE = Path(__file__).with_name("coming.toml")


class Cause(BaseModel):
    """Why a kernel does otherwise in the build."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kernel: Annotated[str, Field(min_length=1)]
    why: Annotated[str, Field(min_length=1)]


class Coming(BaseModel):
    """
    Attributes:
        build: distribution and version, as in a column's id.
        before: the release that it is compared with.
        published: when the build came out; `checked`, when it was looked at.
        about: facts from its files, a sentence each.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    build: Annotated[str, Field(pattern=r"^[a-z][a-z-]*-\d[\d.]*$")]
    before: Annotated[str, Field(min_length=1)]
    published: date
    checked: date
    about: tuple[str, ...]
    cause: tuple[Cause, ...]

    def why(self, kernel: str) -> str:
        """The cause of a kernel's difference; "" where it is unknown."""
        return next((cause.why for cause in self.cause if cause.kernel == kernel), "")


def load(path: Path = DEFAULT_FILE) -> Coming:
    return datafile.load(path, Coming)
