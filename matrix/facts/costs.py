"""The measured costs of a run: the defaults of `crosswarp run --dry-run`, each with its source and date."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from crosswarp.matrix.facts import datafile

DEFAULT_FILE = Path(__file__).with_name("costs.toml")


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Environments(_Strict):
    # One column's.
    megabytes: Annotated[int, Field(gt=0)]
    source: Annotated[str, Field(min_length=1)]
    checked: date


class Lane(_Strict):
    # The number of cases in crosswarp's own suite, for one target and mode.
    cases: Annotated[int, Field(gt=0)]
    # The time of one process for one case: of all of them, and of those alone that are no repeats (repeats.py).
    seconds: Annotated[float, Field(gt=0)]
    seconds_distinct: Annotated[float, Field(gt=0)]


class Lanes(_Strict):
    compile: Lane
    emulate: Lane
    interpret: Lane
    device: Lane
    source: Annotated[str, Field(min_length=1)]
    checked: date


class Releases(_Strict):
    """How many times as long a release takes as the others; 1 where it is not named."""

    factors: dict[str, Annotated[float, Field(gt=0)]]
    source: Annotated[str, Field(min_length=1)]
    checked: date

    def factor(self, column: str) -> float:
        """That of a column by its id, such as `triton-2.3.1`."""
        return next((of for name, of in self.factors.items() if column.endswith(name)), 1.0)


class Costs(_Strict):
    environment: Environments
    lanes: Lanes
    releases: Releases


def load(path: Path = DEFAULT_FILE) -> Costs:
    return datafile.load(path, Costs)
