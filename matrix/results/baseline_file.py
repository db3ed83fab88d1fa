"""The fields of a baseline, for pydantic; baseline.py explains them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from crosswarp.matrix.results.vocabulary import Outcome

# The keys of figures.KINDS.
Kind = Literal["none", "mma", "mfma", "wmma", "wgmma", "tcgen05"]
Figure = Annotated[int, Field(ge=0)] | Annotated[float, Field(ge=0)] | Kind | None
Launch = Annotated[list[Figure], Field(min_length=3, max_length=11)]


class _Strict(BaseModel):
    model_config = ConfigDict(
        extra="forbid", strict=True, frozen=True, allow_inf_nan=False, defer_build=True
    )


class Timing(_Strict):
    median: float
    low: float
    high: float
    bytes: float
    of_copy: float
    alone: bool
    host_bound: bool = False


class Cell(_Strict):
    outcome: Outcome = "pass"
    reason: Literal["", "configuration dropped", "dropped by the autotuner"] = ""
    fingerprint: str = ""
    shims: list[str] = []
    launches: dict[str, list[Launch]] = {}
    timing: Timing | None = None


Cells = dict[str, Outcome | Cell]
Found = dict[Literal["both", "bare", "shimmed"], Cells]
# Not strict about its own type: JSON has no tuples.
Line = Annotated[tuple[list[str], list[str], Found], Field(strict=False)]


class BaselineFile(_Strict):
    crosswarp_baseline: Literal[1]
    columns: dict[str, dict[str, str]]
    cells: dict[
        str, dict[str, dict[Literal["compile", "emulate", "interpret", "device"], list[Line]]]
    ]
